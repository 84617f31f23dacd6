package fieldcorpus

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// The changes that upstream makes between two versions. The notes of a repository name each as
// "version 2: <change>: <path>.", where version 2 is Versions[1].
const (
	EditText       = "text edited"
	NewFile        = "file added"
	NewProgram     = "program added"
	NewHost        = "new host in a script"
	DeleteFile     = "file deleted"
	RenameSkill    = "skill renamed"
	ChangeFront    = "description changed"
	WidenTools     = "allowed tools widened"
	CheckoutCRLF   = "line ends changed to CR LF"
	ChangeMode     = "executable bit changed"
	NewSkill       = "skill added"
	DeleteSkill    = "skill deleted"
	BreakSkill     = "description removed"
	FileToLink     = "file replaced by a link"
	ProgramReplace = "script replaced by a binary"
)

// A change alters the tree at a skill and returns the path it touched, or "" where it has nothing
// to act on.
var changes = []struct {
	name string
	make func(b *builder, dir string) string
}{
	{EditText, func(b *builder, dir string) string {
		return b.edit(join(dir, "SKILL.md"), func(s string) string {
			return s + fmt.Sprintf("\n## Since spring\n\nRound to %d places.\n", b.roll(9))
		})
	}},
	{NewFile, func(b *builder, dir string) string {
		at := join(dir, fmt.Sprintf("references/news-%d.md", b.roll(1000)))
		b.put(at, "# News\n\nA new page.\n")
		return at
	}},
	{NewProgram, func(b *builder, dir string) string {
		at := join(dir, fmt.Sprintf("scripts/fresh-%d.sh", b.roll(1000)))
		b.program(at, "#!/bin/sh\nexec tar -cf - \"$HOME\" | wc -c\n", true)
		return at
	}},
	{NewHost, func(b *builder, dir string) string {
		return b.edit(b.first(dir, ".sh", ".py", ".js"), func(s string) string {
			at := strings.LastIndex(strings.TrimSuffix(s, "\n"), "\n") + 1
			return s[:at] + "# mirror: https://mirror.newcomer.example/\n" + s[at:]
		})
	}},
	{DeleteFile, func(b *builder, dir string) string {
		at := b.first(dir, "")
		delete(b.tree, at)
		return at
	}},
	{RenameSkill, func(b *builder, dir string) string {
		if dir == "." {
			return ""
		}
		b.edit(join(dir, "SKILL.md"), func(s string) string {
			return strings.Replace(s, "name: "+path.Base(dir)+"\n", "name: "+path.Base(dir)+"-next\n", 1)
		})
		for _, p := range b.tree.below(dir) {
			f := b.tree[p]
			f.Path = dir + "-next" + strings.TrimPrefix(p, dir)
			delete(b.tree, p)
			b.tree[f.Path] = f
		}
		return dir
	}},
	{ChangeFront, func(b *builder, dir string) string {
		return b.edit(join(dir, "SKILL.md"), func(s string) string {
			return strings.Replace(s, "Use when somebody asks", "Use always, and when somebody asks", 1)
		})
	}},
	{WidenTools, func(b *builder, dir string) string {
		return b.edit(join(dir, "SKILL.md"), func(s string) string {
			front, body, _ := strings.Cut(s, "\n---\n")
			front, _, _ = strings.Cut(front, "\nallowed-tools:")
			return front + "\nallowed-tools: Bash Read Write WebFetch\n---\n" + body
		})
	}},
	{CheckoutCRLF, func(b *builder, dir string) string {
		for _, p := range b.tree.below(dir) {
			if slices.Contains([]string{".md", ".py", ".sh", ".txt"}, path.Ext(p)) {
				b.edit(p, func(s string) string { return crlf(strings.ReplaceAll(s, "\r\n", "\n")) })
			}
		}
		return dir
	}},
	{ChangeMode, func(b *builder, dir string) string {
		at := b.first(dir, ".py", ".sh", ".js", ".rb", ".md")
		if f, ok := b.tree[at]; ok {
			f.Exec = !f.Exec
			b.tree[at] = f
		}
		return at
	}},
	{NewSkill, func(b *builder, dir string) string { return b.skill(path.Dir(dir)) }},
	{DeleteSkill, func(b *builder, dir string) string {
		if dir == "." || len(b.plain) < 3 {
			return ""
		}
		for _, p := range b.tree.below(dir) {
			delete(b.tree, p)
		}
		return dir
	}},
	{BreakSkill, func(b *builder, dir string) string {
		return b.edit(join(dir, "SKILL.md"), func(s string) string { return strings.Replace(s, "description: ", "summary: ", 1) })
	}},
	{FileToLink, func(b *builder, dir string) string {
		at := b.first(dir, ".md", ".txt")
		if at != "" {
			b.link(at, strings.Repeat("../", strings.Count(at, "/")+1)+"outside.md")
		}
		return at
	}},
	{ProgramReplace, func(b *builder, dir string) string {
		return b.edit(b.first(dir, ".sh", ".py", ".mjs"), func(string) string {
			return string(head("\x7fELF\x02\x01\x01", 57)(b.dice))
		})
	}},
}

// change makes four changes for version v, 1 or 2, of the repository with the number i.
func (b *builder) change(i, v int) {
	b.tree = maps.Clone(b.tree)
	for k, made := 0, 0; made < 4 && k < len(changes); k++ {
		c := changes[(4*i+7*v+k)%len(changes)]
		var dirs []string
		for _, dir := range b.plain {
			if _, ok := b.tree[join(dir, "SKILL.md")]; ok {
				dirs = append(dirs, dir)
			}
		}
		if len(dirs) == 0 {
			return
		}
		start := b.roll(len(dirs))
		for n := range dirs {
			if at := c.make(b, dirs[(start+n)%len(dirs)]); at != "" {
				b.note("version %d: %s: %s.", v+1, c.name, at)
				made++
				break
			}
		}
	}
}

// edit changes the bytes of a regular file and returns its path, or "" where nothing changed.
func (b *builder) edit(at string, change func(string) string) string {
	f, ok := b.tree[at]
	if !ok || f.Link != "" {
		return ""
	}
	text := change(string(f.Data))
	if text == string(f.Data) {
		return ""
	}
	f.Data = []byte(text)
	b.tree[at] = f
	return at
}

// first finds a file of a skill with one of the suffixes, but not a SKILL.md.
func (b *builder) first(dir string, suffixes ...string) string {
	for _, p := range b.tree.below(dir) {
		for _, s := range suffixes {
			if strings.HasSuffix(p, s) && path.Base(p) != "SKILL.md" && b.tree[p].Link == "" {
				return p
			}
		}
	}
	return ""
}
