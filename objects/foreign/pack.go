package foreign

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// box takes files into a bundle. It names each file that a bundle cannot hold, and everything
// about the others that a user would not expect.
type box struct {
	r     *reading
	dir   string            // of the bundle, below .ai
	from  string            // the folder in the tree
	entry string            // the file in the tree that becomes SKILL.md; "" for none
	names map[string]string // by folded path: the path, with a slash after a directory
	files []File
	lost  []string
}

func (r *reading) box(from, dir string) *box {
	return &box{r: r, dir: dir, from: from, names: map[string]string{}}
}

// pack takes everything below a folder into a bundle in dir. entry is the file that becomes its
// SKILL.md; "" for none.
func (r *reading) pack(from, dir, entry string) *box {
	b := r.box(from, dir)
	b.entry = entry
	for _, f := range r.below(from) {
		b.take(f)
	}
	for _, l := range r.linked.bad {
		if under(l.Path, from) {
			b.lost = append(b.lost, "without "+words.Quote(words.Brief(b.rel(l.Path)))+": "+l.Why)
			r.pass = append(r.pass, l)
			r.used[l.Path] = true
		}
	}
	for _, p := range r.tree.Passed {
		if p.Code != "" && under(p.Path, from) {
			b.lost = append(b.lost, "without "+words.Quote(words.Brief(b.rel(p.Path)))+": "+p.Why)
		}
	}
	return b
}

func (b *box) rel(p string) string {
	if b.from == "." {
		return p
	}
	return strings.TrimPrefix(p, b.from+"/")
}

// take takes one file in at its path below the folder.
func (b *box) take(f File) {
	b.r.use(f.Path)
	rel := b.rel(f.Path)
	name := objects.NormalMember(rel)
	if f.Path == b.entry {
		if name = objects.SkillFile; name != rel {
			b.lost = append(b.lost, rel+" is called "+name+" here, because clients want that")
		}
	}
	err := packable(name, f.Data)
	why := objects.OnWindows(name)
	if err == nil && why != "" && b.r.wish.Windows {
		err = fault.New(fault.Malformed, "no name on Windows: %s", why)
	}
	if err == nil {
		err = b.claim(name)
	}
	if err != nil {
		b.r.refuse(f.Path, err)
		b.lost = append(b.lost, "without "+words.Quote(words.Brief(rel))+": "+err.Error())
		return
	}
	if name != rel && f.Path != b.entry {
		b.lost = append(b.lost, words.Quote(words.Brief(name))+" is spelled here in Unicode's form NFC")
	}
	if why != "" {
		b.lost = append(b.lost, "Windows cannot hold it: "+why)
	}
	if pointer(f.Data) {
		b.lost = append(b.lost, words.Quote(words.Brief(name))+" is a pointer of Git LFS, and not the file that it stands for")
	}
	if real, ok := b.r.linked.real[f.Path]; ok && !under(real, b.r.realDir(b.from)) {
		b.lost = append(b.lost, words.Quote(words.Brief(name))+" is behind a link there, and a file here")
	}
	b.files = append(b.files, File{Path: b.dir + "/" + name, Data: f.Data, Executable: f.Executable})
}

// put adds a file that rye wrote.
func (b *box) put(name string, data []byte) error {
	if err := b.claim(name); err != nil {
		return err
	}
	b.files = append(b.files, File{Path: b.dir + "/" + name, Data: data})
	return nil
}

// has reports whether the bundle has this name, or one that only differs in case.
func (b *box) has(name string) bool { return b.names[objects.Fold(name)] != "" }

// claim refuses a name that some systems cannot tell from another one in the bundle.
func (b *box) claim(name string) error {
	for end := len(name); end > 0; end = strings.LastIndexByte(name[:end], '/') {
		want := name[:end]
		if end < len(name) {
			want += "/"
		}
		if old := b.names[objects.Fold(name[:end])]; old != "" && (old != want || end == len(name)) {
			return fault.New(fault.Conflict, "%q and %q are one name on some systems", words.Brief(strings.TrimSuffix(old, "/")), words.Brief(name[:end]))
		}
	}
	for end := len(name); end > 0; end = strings.LastIndexByte(name[:end], '/') {
		want := name[:end]
		if end < len(name) {
			want += "/"
		}
		b.names[objects.Fold(name[:end])] = want
	}
	return nil
}

func packable(name string, data []byte) error {
	switch {
	case path.Base(name) == objects.ManifestName:
		return fault.New(fault.Malformed, "rye signs a manifest of its own")
	case len(data) > objects.MaxItemSize:
		return fault.New(fault.Limit, "more than %d bytes", objects.MaxItemSize)
	}
	return objects.CheckMember(name)
}

// pointer reports whether a file is a pointer of Git LFS.
func pointer(data []byte) bool {
	return len(data) < 1024 && bytes.HasPrefix(data, []byte("version https://git-lfs.github.com/spec/"))
}

// leftovers names the files that belong to nothing. A folder with nothing but them is named once.
func (r *reading) leftovers() {
	taken := map[string]bool{} // folders that hold something that was used or named
	mark := func(p string) {
		for dir := path.Dir(p); !taken[dir]; dir = path.Dir(dir) {
			taken[dir] = true
		}
	}
	for p := range r.used {
		mark(p)
	}
	named := map[string]bool{}
	for _, p := range r.pass {
		mark(p.Path)
		named[p.Path] = named[p.Path] || p.Code != ""
	}
	count := map[string]int{}
	var order []string
	for _, f := range r.tree.Files {
		if r.used[f.Path] || named[f.Path] {
			continue
		}
		if why := leftover(f.Path); why != "" {
			r.skip(f.Path, why)
			continue
		}
		at := f.Path
		for dir := path.Dir(f.Path); !taken[dir] && dir != "."; dir = path.Dir(dir) {
			at = dir
		}
		if count[at]++; count[at] == 1 {
			order = append(order, at)
		}
	}
	const nothing = "not a skill, command, rule or script"
	for _, at := range order {
		if _, file := r.at[at]; file {
			r.skip(at, nothing)
		} else {
			r.skip(at, words.Plural(count[at], "file")+" without a skill, command, rule or script")
		}
	}
}

// leftover returns why a file is not an item, for a user who expected one; "" for other files.
func leftover(p string) string {
	switch base := path.Base(p); {
	case base == "hooks.json":
		return "rye has no counterpart to the hooks of other programs"
	case base == "plugin.json", base == "marketplace.json", base == "gemini-extension.json":
		return "its content is in the imported items"
	case base == "settings.json" && slices.Contains([]string{".claude", ".gemini"}, path.Base(path.Dir(p))):
		return "rye does not take over the settings of other programs"
	}
	return ""
}
