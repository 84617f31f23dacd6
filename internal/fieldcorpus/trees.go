package fieldcorpus

import (
	"fmt"
	"strings"
)

// accidentRecipes are repositories whose trees, rather than one SKILL.md, are the trouble.
var accidentRecipes = []recipe{
	{form: "accident-skills", roots: []string{"skills"}, each: 2, clean: true, more: everyAccident, notes: []string{"Every accident of a SKILL.md occurs once."}},
	{form: "accident-skills", roots: []string{".claude/skills"}, each: 2, clean: true, more: everyAccident, notes: []string{"Every accident of a SKILL.md occurs once, for Claude Code."}},
	{form: "accident-names", roots: []string{"skills"}, each: 2, clean: true, more: oddNames, notes: []string{"Names of files are odd or impossible on other systems."}},
	{form: "accident-twins", roots: []string{"skills"}, each: 2, clean: true, more: twins, notes: []string{"Names differ in case or in Unicode form only, or occur twice."}},
	{form: "accident-links", roots: []string{"skills"}, each: 3, clean: true, more: links, notes: []string{"Links lead inside, outside, to themselves and to nothing."}},
	{form: "accident-git", roots: []string{"skills"}, each: 3, clean: true, files: gitFiles, more: gitAccidents, notes: []string{"Attributes, ignored names, LFS pointers and submodules change what git checks out."}},
	{form: "accident-gitfile", roots: []string{"skills"}, each: 3, clean: true, more: gitFile, notes: []string{"A checked-out submodule has a file .git, which git refuses to add."}},
	{form: "accident-large", roots: []string{"skills"}, each: 2, clean: true, more: manyFiles, notes: []string{"A skill has more than 512 files."}},
	{form: "accident-large", roots: []string{"skills"}, each: 2, clean: true, more: bigFile, notes: []string{"A skill has a file of 1 MB."}},
	{form: "accident-deep", roots: []string{"skills"}, each: 2, clean: true, more: deep, notes: []string{"Skills lie too deep, inside other skills, and in directories of build results."}},
}

func everyAccident(b *builder) {
	for _, a := range skillAccidents {
		b.accident(b.repo.rootOf(), a)
	}
	dir := join(b.repo.rootOf(), "directory-as-file")
	b.put(dir+"/SKILL.md/README.md", "SKILL.md is a directory.\n")
	b.add(Skill{Dir: dir, Why: "its SKILL.md is a directory"})
	b.note("%s: SKILL.md is a directory.", dir)
}

// rootOf is the directory that holds the first skill.
func (r Repository) rootOf() string {
	dir := r.Skills[0].Dir
	return dir[:strings.LastIndexByte(dir, '/')]
}

const (
	composed   = "gr\u00f6\u00dfe"  // o with diaeresis as one character: NFC
	decomposed = "gro\u0308\u00dfe" // the same in two: NFD
)

func oddNames(b *builder) {
	for i, names := range [][]string{
		{"aux.md", "con", "nul.txt", "COM1", "lpt9.log", "a:b.md", "what?.md", "star*.md", "quote\".md", "less<.md", "pipe|.md", "trail.", "trail ", "back\\slash.md"},
		{"tab\there.md", "line\nfeed.md", "-rf", "--help", "bell\a.md", "dollar$(id).md", "semi;colon.md", "quote'.md", "%2e%2e", " lead.md", "#hash.md", "@at.md", "~home"},
		{"Readme.md", "README.md", "readme.MD", composed + ".md", decomposed + ".md", "emoji-\U0001f30a.md", "\u202egnp.sh", "\u200b.md", "\u65e5\u672c.md", strings.Repeat("n", 251) + ".txt"},
		{"raw-\xff\xfe.bin", "latin-caf\xe9.md", "half-\xc3"},
		{".hidden", ".hidden.d/deep.md", "..data", "...", ".DS_Store", "Thumbs.db", "desktop.ini", "._SKILL.md", "SKILL.md~", "SKILL.md.orig", "#SKILL.md#", ".SKILL.md.swp"},
	} {
		dir := b.skill("skills")
		for _, n := range names {
			b.put(dir+"/references/"+n, "About this name.\n")
		}
		b.last().Warn = "names of its files are not for every system"
		b.note("%s: %s.", dir, []string{"names that Windows cannot hold", "names with a meaning for a shell", "names that differ in case or Unicode form", "names that are not UTF-8", "hidden files and leavings of editors"}[i])
	}
	b.put("skills/aux/SKILL.md", "---\nname: aux\ndescription: Its directory has a name of a device. Use when asked.\n---\n")
	b.add(Skill{Name: "aux", Dir: "skills/aux", Warn: "Windows cannot hold the name of its directory"})
	b.put("empty/", "")
	b.put("skills/hollow/", "")
	b.note("empty and skills/hollow are empty directories.")
	dir := b.plain[0]
	b.program(dir+"/scripts/plain-mode.sh", "#!/bin/sh\necho no executable bit\n", false)
	b.tree[dir+"/NOTES.md"] = File{Path: dir + "/NOTES.md", Data: []byte("Text with an executable bit.\n"), Exec: true}
	b.note("%s: a script lacks the executable bit, and a text has it.", dir)
}

func twins(b *builder) {
	simple := func(dir, name, warn string) {
		b.put(dir+"/SKILL.md", "---\nname: "+name+"\ndescription: One of two at "+dir+". Use when asked.\n---\n\n# Twin\n")
		b.add(Skill{Name: name, Dir: dir, Warn: warn})
	}
	simple("skills/kelp-log", "kelp-log", "another directory differs in case only")
	simple("skills/Kelp-Log", "Kelp-Log", "its name has an upper-case letter")
	b.note("skills/kelp-log and skills/Kelp-Log are twins but for case.")
	simple("skills/"+composed, composed, "its name has a letter beyond a to z")
	simple("skills/"+decomposed, decomposed, "its name has a letter beyond a to z")
	b.note("skills/%s is there in NFC and in NFD.", composed)
	for _, root := range []string{"skills", ".claude/skills", ".agents/skills", "old/skills"} {
		simple(root+"/salt-audit", "salt-audit", "another skill has the same name")
	}
	b.note("salt-audit is in four places, each with another text.")
	b.put("skills/both/SKILL.md", "---\nname: both\ndescription: In upper case. Use when asked.\n---\n")
	b.put("skills/both/skill.md", "---\nname: both\ndescription: In lower case. Use when asked.\n---\n")
	b.add(Skill{Name: "both", Dir: "skills/both", Warn: "it has SKILL.md and skill.md"})
	b.note("skills/both has SKILL.md and skill.md.")
	b.put("docs", "A file.\n")
	b.put("Docs/page.md", "In a directory that differs from a file in case.\n")
	b.note("docs is a file and Docs a directory.")
}

func links(b *builder) {
	target := b.plain[0]
	for _, l := range []struct{ at, to, what string }{
		{".claude/skills", "../skills", "a linked directory of skills"},
		{".agents/skills/inside", "../../" + target, "a linked skill inside of the repository"},
		{".agents/skills/chain", "inside", "a link to a link"},
		{target + "/references/self", "..", "a link to a directory above, a loop"},
		{target + "/loop", "loop", "a link to itself"},
		{target + "/gone.md", "not-there.md", "a link to nothing"},
		{target + "/copy.md", "SKILL.md", "a link to a file of the skill"},
		{target + "/shared.md", "../../README.md", "a link out of the skill, inside of the repository"},
		{target + "/passwd", "/etc/passwd", "an absolute link"},
		{target + "/secrets", "../../../../.ssh", "a link out of the repository"},
		{target + "/odd.md", "back\\slash.md", "a link with a backslash"},
	} {
		b.link(l.at, l.to)
		b.note("%s: %s.", l.at, l.what)
	}
	for dir, to := range map[string]string{"skills/outside": "../../other/skills/outside", "skills/absolute": "/opt/skills/absolute"} {
		b.link(dir, to)
	}
	b.add(Skill{Dir: "skills/outside", Why: "its directory is a link out of the repository"})
	b.add(Skill{Dir: "skills/absolute", Why: "its directory is a link out of the repository"})
	b.put("shared/SKILL.txt", "---\nname: linked-file\ndescription: Behind a link. Use when asked.\n---\n")
	b.link("skills/linked-file/SKILL.md", "../../shared/SKILL.txt")
	b.add(Skill{Name: "linked-file", Dir: "skills/linked-file", Why: "its SKILL.md is a link"})
	b.link("skills/linked-away/SKILL.md", "../../../elsewhere/SKILL.md")
	b.add(Skill{Dir: "skills/linked-away", Why: "its SKILL.md is a link"})
	b.note("skills/linked-file and skills/linked-away: SKILL.md is a link.")
}

func gitAccidents(b *builder) {
	dir := b.plain[0]
	b.put(dir+"/assets/large.png", lfsPointer)
	b.program(dir+"/bin/large", lfsPointer, true)
	b.put(dir+"/notes.md", "Not in an archive.\n")
	b.put(dir+"/key.secret", "ignored and tracked all the same\n")
	b.put(dir+"/cache/rows.txt", "ignored and tracked all the same\n")
	b.put(dir+"/rows.utf16", wide("a;b\n"))
	b.put(dir+"/.gitattributes", "SKILL.md -text\n*.txt eol=lf\n")
	b.put(dir+"/.gitignore", "!key.secret\n")
	b.put("vendor/press/", "")
	b.put("skills/odd/", "")
	b.note("%s has pointers of Git LFS, one of them a program.", dir)
	b.note("vendor/press and skills/odd are submodules that are not checked out.")
	b.note("Files are tracked that .gitignore names.")
	b.note("export-ignore hides files of a skill from an archive.")
}

func gitFile(b *builder) {
	b.put("vendor/press/.git", "gitdir: ../../.git/modules/press\n")
	b.put("vendor/press/skills/inner-press/SKILL.md", "---\nname: inner-press\ndescription: Of a submodule. Use when asked.\n---\n")
	b.add(Skill{Name: "inner-press", Dir: "vendor/press/skills/inner-press"})
	b.put(".gitmodules", "[submodule \"press\"]\n\tpath = vendor/press\n\turl = ../press.git\n")
}

func manyFiles(b *builder) {
	dir := b.skill("skills")
	for i := range 600 {
		b.put(fmt.Sprintf("%s/references/%02d/page-%03d.md", dir, i/50, i), fmt.Sprintf("# Page %d\n", i))
	}
	b.last().Warn = "it has more than 512 files"
	dir = b.skill("skills")
	for i := len(b.tree.below(dir)); i < 512; i++ {
		b.put(fmt.Sprintf("%s/rows/%03d.txt", dir, i), "row\n")
	}
	b.note("%s has 512 files.", dir)
}

func bigFile(b *builder) {
	dir := b.skill("skills")
	b.put(dir+"/assets/big.bin", string(b.bytes(1<<20)))
	b.put(dir+"/assets/nothing.bin", "")
	b.put(dir+"/assets/line.json", "["+strings.Repeat("0,", 40000)+"0]")
	b.note("%s has an empty file and one of a single long line.", dir)
}

func deep(b *builder) {
	outer := b.skill("skills")
	b.skill(outer + "/skills")
	b.note("A skill lies inside of another.")
	for _, p := range []struct{ root, why string }{
		{"node_modules/press/skills", "it lies in node_modules"}, {"dist/skills", "it lies in dist"},
		{"build/skills", "it lies in build"}, {"src/__pycache__", "it lies in __pycache__"},
		{"a/b/c/d/e/f/g", "it lies deeper than any client looks"}, {"skills/a/b/c/d/e/f/g", "it lies deeper than any client looks"},
	} {
		for range 2 {
			b.skill(p.root)
			b.last().Why = p.why
		}
	}
	b.put(b.plain[0]+"/"+strings.Repeat("deep/", 40)+"end.md", "Far down.\n")
	b.put(b.plain[0]+"/"+strings.Repeat("a-long-directory-name/", 45)+"end.md", "A path of about 1000 bytes.\n")
	b.note("A tree is 40 directories deep, and a path about 1000 bytes long.")
}
