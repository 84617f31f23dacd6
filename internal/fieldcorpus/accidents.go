package fieldcorpus

import (
	"strings"
	"unicode/utf16"
)

// An accident is a SKILL.md that is not as the format wants it. In its texts {n} stands for the
// name of the skill, {d} for its description and {b} for its body.
type accident struct {
	what string // a sentence without its subject and period: the note of the repository
	text string
	name string // the name in the front matter, if not {n}; "-" for none
	dir  string // the directory's name, if not {n}
	why  string
	warn string
	file string // the file's name, if not SKILL.md
}

const (
	valid   = "---\nname: {n}\ndescription: {d}\n"
	closing = "---\n\n{b}"
	long    = "abcdefghijklmnopqrstuvwxyz0123456789-abcdefghijklmnopqrstuvwxyz" // 63 characters
)

var skillAccidents = []accident{
	{what: "has no front matter", text: "{b}", name: "-", why: "it has no front matter"},
	{what: "has no end of the front matter", text: valid + "\n{b}", name: "-", why: "its front matter is not closed"},
	{what: "has no description", text: "---\nname: {n}\n" + closing, why: "it has no description"},
	{what: "has an empty description", text: "---\nname: {n}\ndescription: \"\"\n" + closing, why: "its description is blank"},
	{what: "has a name unlike its directory", text: "---\nname: other-{n}\ndescription: {d}\n" + closing, name: "other-{n}", warn: "its name is not that of its directory"},
	{what: "has a description of spaces", text: "---\nname: {n}\ndescription: \"   \"\n" + closing, why: "its description is blank"},
	{what: "has a null description", text: "---\nname: {n}\ndescription:\n" + closing, why: "its description is blank"},
	{what: "has a name in upper case", text: "---\nname: Press-{n}\ndescription: {d}\n" + closing, name: "Press-{n}", dir: "Press-{n}", warn: "its name has an upper-case letter"},
	{what: "has a list for a description", text: "---\nname: {n}\ndescription:\n  - {d}\n" + closing, why: "its description is not text"},
	{what: "has a map for a description", text: "---\nname: {n}\ndescription:\n  en: {d}\n" + closing, why: "its description is not text"},
	{what: "has a name of non-ASCII letters", text: "---\nname: größe-{n}\ndescription: {d}\n" + closing, name: "größe-{n}", dir: "größe-{n}", warn: "its name has a letter beyond a to z"},
	{what: "has a description of 1025 characters", text: "---\nname: {n}\ndescription: " + strings.Repeat("tides and", 113) + "12345678\n" + closing, why: "its description has more than 1024 characters"},
	{what: "has a name of 65 characters", text: "---\nname: " + long + "-x\ndescription: {d}\n" + closing, name: long + "-x", dir: long + "-x", why: "its name has more than 64 characters"},
	{what: "has lines that end in CR LF", text: crlf(valid + "license: MIT\n---\n\n# Rows\n\nOne row.\n")},
	{what: "has a tab in its YAML", text: valid + "metadata:\n\tauthor: acme\n" + closing, name: "-", why: "its front matter is not YAML"},
	{what: "has an open quote in its YAML", text: "---\nname: {n}\ndescription: \"{d}\n" + closing, name: "-", why: "its front matter is not YAML"},
	{what: "has a byte order mark", text: "\ufeff" + valid + closing, warn: "it begins with a byte order mark"},
	{what: "has an open map in its YAML", text: valid + "metadata: {author: acme\n" + closing, name: "-", why: "its front matter is not YAML"},
	{what: "has a NUL byte in its front matter", text: valid + "license: M\x00IT\n" + closing, name: "-", why: "its front matter is not YAML"},
	{what: "has a NUL byte in its text", text: valid + closing + "\x00\n", warn: "its text has a NUL byte"},
	{what: "has invalid UTF-8 in its front matter", text: valid + "license: M\xffIT\n" + closing, name: "-", why: "its front matter is not UTF-8"},
	{what: "has a list for its front matter", text: "---\n- name: {n}\n- description: {d}\n" + closing, name: "-", why: "its front matter is not a map"},
	{what: "has an anchor and an alias in its YAML", text: valid + "license: &l MIT\nmetadata:\n  licence: *l\n" + closing, warn: "its YAML has an anchor"},
	{what: "has a sentence for its front matter", text: "---\njust words\n" + closing, name: "-", why: "its front matter is not a map"},
	{what: "has an empty front matter", text: "---\n" + closing, name: "-", why: "it has no description"},
	{what: "has no name", text: "---\ndescription: {d}\n" + closing, name: "-", warn: "it has no name, so that of its directory is taken"},
	{what: "is empty", text: "", name: "-", why: "it has no front matter"},
	{what: "has an alias to nothing", text: "---\nname: {n}\ndescription: *nowhere\n" + closing, name: "-", why: "its front matter is not YAML"},
	{what: "has a colon in a plain value", text: "---\nname: {n}\ndescription: Use when: {d}\n" + closing, warn: "its description has a colon and no quotes"},
	{what: "has a key twice", text: valid + "description: again\n" + closing, name: "-", why: "its front matter has a key twice, which YAML forbids"},
	{what: "has its front matter below a heading", text: "# {n}\n\n" + valid + closing, name: "-", why: "it has no front matter"},
	{what: "has a name of 64 characters", text: "---\nname: " + long + "z\ndescription: {d}\n" + closing, name: long + "z", dir: long + "z"},
	{what: "has front matter in TOML", text: "+++\nname = \"{n}\"\ndescription = \"{d}\"\n+++\n\n{b}", name: "-", why: "it has no front matter"},
	{what: "is in UTF-16", text: wide("---\nname: x\ndescription: wide\n---\n"), name: "-", why: "it is not UTF-8"},
	{what: "has 1024 characters of two bytes in its description", text: "---\nname: {n}\ndescription: " + strings.Repeat("é", 1024) + "\n" + closing},
	{what: "has keys in upper case", text: "---\nName: {n}\nDescription: {d}\n" + closing, name: "-", why: "it has no description"},
	{what: "is a picture", text: "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", name: "-", why: "it has no front matter"},
	{what: "has flow style in its YAML", text: valid + "metadata: {author: acme, version: \"2\"}\n" + closing, warn: "its YAML has a flow map"},
	{what: "has marks of a merge", text: "---\n<<<<<<< HEAD\nname: {n}\n=======\nname: new-{n}\n>>>>>>> new\ndescription: {d}\n" + closing, name: "-", why: "its front matter is not YAML"},
	{what: "is a pointer of Git LFS", text: lfsPointer, name: "-", why: "it has no front matter"},
	{what: "has a tag in its YAML", text: "---\nname: !!str {n}\ndescription: {d}\n" + closing, warn: "its YAML has a tag"},
	{what: "has --- inside a value", text: "---\nname: {n}\ndescription: \"{d} --- and more\"\n" + closing, warn: "a value holds ---"},
	{what: "has a field that the format does not know", text: valid + "colour: blue\n" + closing, warn: "it has an unknown field"},
	{what: "has a list of allowed tools", text: valid + "allowed-tools:\n  - Read\n  - Bash\n" + closing, warn: "allowed-tools is not a string"},
	{what: "has metadata that are no strings", text: valid + "metadata:\n  version: 1.0\n  when: 2026-03-01\n  mode: 0755\n  on: yes\n" + closing, warn: "metadata has values that are not strings"},
	{what: "has a map inside metadata", text: valid + "metadata:\n  acme:\n    a: b\n" + closing, warn: "metadata has values that are not strings"},
	{what: "has a compatibility of 501 characters", text: valid + "compatibility: " + strings.Repeat("abc", 167) + "\n" + closing, warn: "compatibility has more than 500 characters"},
	{what: "has an empty compatibility", text: valid + "compatibility: \"\"\n" + closing, warn: "compatibility is blank"},
	{what: "has the file name skill.md", text: valid + closing, file: "skill.md", warn: "its file is skill.md, which not every client reads"},
	{what: "has two hyphens in its name", text: "---\nname: a--{n}\ndescription: {d}\n" + closing, name: "a--{n}", dir: "a--{n}", warn: "its name has two hyphens in a row"},
	{what: "has a hyphen before its name", text: "---\nname: -{n}\ndescription: {d}\n" + closing, name: "-{n}", dir: "-{n}", warn: "its name begins with a hyphen"},
	{what: "has an underscore in its name", text: "---\nname: a_{n}\ndescription: {d}\n" + closing, name: "a_{n}", dir: "a_{n}", warn: "its name has a character beyond a to z, 0 to 9 and hyphen"},
	{what: "has spaces in its name", text: "---\nname: The {n}\ndescription: {d}\n" + closing, name: "The {n}", dir: "The {n}", warn: "its name has a character beyond a to z, 0 to 9 and hyphen"},
	{what: "has a path for its name", text: "---\nname: ../{n}\ndescription: {d}\n" + closing, name: "../{n}", warn: "its name has a character beyond a to z, 0 to 9 and hyphen"},
	{what: "has the reserved name synced", text: "---\nname: synced\ndescription: {d}\n" + closing, name: "synced", dir: "synced", warn: "Claude Code reserves its name"},
	{what: "has a name that YAML reads as a number", text: "---\nname: 0755\ndescription: {d}\n" + closing, name: "0755", dir: "0755", warn: "YAML does not read its name as text"},
	{what: "has invalid UTF-8 in its text", text: valid + closing + "caf\xe9\n", warn: "its text is not UTF-8"},
	{what: "has marks of direction and a space of no width in its text", text: valid + closing + "safe\u202e\u2066txt.sh\u2069\u200b\n", warn: "its text has characters that do not show"},
	{what: "asks to be hidden", text: valid + "metadata:\n  internal: true\n" + closing, warn: "metadata.internal asks installers to hide it"},
	{what: "has a reserved key of metadata", text: valid + "metadata:\n  io.modelcontextprotocol/x: \"1\"\n" + closing, warn: "metadata has a reserved key"},
	{what: "has more than 500 lines", text: valid + closing + strings.Repeat("- row\n", 520), warn: "its text has more than 500 lines"},
	{what: "has no text below its front matter", text: valid + "---"},
	{what: "has a comment and a block scalar", text: "---\n# of the press\nname: {n} # short\ndescription: |-\n  {d}\n" + closing},
	{what: "has spaces behind the marks of its front matter", text: "---  \nname: {n}\ndescription: {d}\n---  \n\n{b}", warn: "spaces stand behind its --- lines"},
}

const lfsPointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 123456\n"

// accident makes a skill with an accident below a root.
func (b *builder) accident(root string, a accident) {
	n, theme, craft := b.name()
	fill := func(s string) string {
		return strings.NewReplacer("{n}", n, "{d}", b.description(theme, craft), "{b}", b.body(theme, craft)).Replace(s)
	}
	dir, name, file := join(root, n), n, "SKILL.md"
	if a.dir != "" {
		dir = join(root, fill(a.dir))
	}
	if len(b.tree.below(dir)) > 0 {
		return // a fixed name is taken here
	}
	if a.name != "" {
		name = fill(a.name)
	}
	if a.name == "-" {
		name = ""
	}
	if a.file != "" {
		file = a.file
	}
	b.stock(dir, theme, craft)
	b.put(join(dir, file), fill(a.text))
	b.add(Skill{Name: name, Dir: dir, Why: a.why, Warn: a.warn})
	b.note("%s: the skill %s.", dir, a.what)
}

func crlf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

// wide is UTF-16 with the lower byte first, as an editor of Windows saves it.
func wide(s string) string {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return string(out)
}
