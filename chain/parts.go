package chain

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
)

// Bounds on the files that a tool loads from its directory by name.
const (
	maxParts     = 256
	maxPartDepth = 4 // directories below the tool's own
)

// Beside lists the directories around tools, each once. It is safe for concurrent use.
type Beside struct {
	t    Tree
	mu   sync.Mutex
	dirs map[string]map[string]bool // the entries of each directory, as Tree.Names returns them
}

// NewBeside returns the directories of a tree.
func NewBeside(t Tree) *Beside { return &Beside{t: t, dirs: map[string]map[string]bool{}} }

// Part returns the first part in a tool's directory that the tool's text names, unverified; "" for
// none.
func (b *Beside) Part(ctx context.Context, tool *objects.Item) (string, error) {
	dir := path.Dir(tool.Path)
	if tool.Meta.Part || !strings.Contains(dir, "/") {
		return "", nil
	}
	names, err := b.in(ctx, dir)
	if err != nil {
		return "", err
	}
	for _, name := range mentioned(tool.Path, tool.Body, names) {
		file := dir + "/" + name
		if file == tool.Path || !objects.CarriesLine(file) {
			continue
		}
		raw, err := b.t.Read(file)
		if err != nil {
			return "", err
		}
		if it, err := objects.Parse(file, raw); err == nil && it.Meta.Part {
			return file, nil
		}
	}
	return "", nil
}

func (b *Beside) in(ctx context.Context, dir string) (map[string]bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if names, known := b.dirs[dir]; known {
		return names, nil
	}
	list, err := b.t.Names(ctx, dir)
	if err != nil {
		return nil, err
	}
	names := make(map[string]bool, len(list))
	for _, n := range list {
		names[n] = true
	}
	b.dirs[dir] = names
	return names, nil
}

// parts finds the files that a tool loads from its own directory because its text names them, or
// the text of a file found before does. A file that no text names costs nothing: it is neither
// read nor judged.
type parts struct {
	*Beside
	tool trust.Verified
	seen map[string]bool // paths that were judged
	size int             // bytes of all
	all  []Source
}

// partsOf returns the files that the tool loads by name, except the files in have. Each is verified,
// and has the tool's signer.
func partsOf(ctx context.Context, t Tree, tool trust.Verified, have []Source) ([]Source, error) {
	own := tool.Item().Path
	if !strings.Contains(path.Dir(own), "/") {
		return nil, nil // directly below tools/ are the namespaces of others
	}
	p := &parts{Beside: NewBeside(t), tool: tool, seen: map[string]bool{own: true}}
	for _, s := range have {
		p.seen[s.Path] = true
	}
	err := p.from(ctx, own, tool.Item().Body)
	for i := 0; err == nil && i < len(p.all); i++ { // which grows
		err = p.from(ctx, p.all[i].Path, p.all[i].Data)
	}
	return p.all, err
}

// from adds the files that the text of one file names, in its own directory and in the tool's.
func (p *parts) from(ctx context.Context, file string, text []byte) error {
	root := path.Dir(p.tool.Item().Path)
	dirs := []string{root}
	if d := path.Dir(file); d != root {
		dirs = append(dirs, d)
	}
	for _, dir := range dirs {
		depth := strings.Count(dir, "/") - strings.Count(root, "/")
		if err := p.named(ctx, dir, file, text, depth); err != nil {
			return err
		}
	}
	return nil
}

// named adds the files of a directory that the text names, and looks into the directories that it
// names. The file that stands for a directory comes with it.
func (p *parts) named(ctx context.Context, dir, from string, text []byte, depth int) error {
	names, err := p.in(ctx, dir)
	if err != nil {
		return err
	}
	found := mentioned(from, text, names)
	if dir != path.Dir(from) && depth > 0 {
		for n := range names {
			if standsForDir(n) {
				found = append(found, n)
			}
		}
		slices.Sort(found)
	}
	for _, name := range found {
		sub, isDir := strings.CutSuffix(name, "/")
		switch file := dir + "/" + name; {
		case isDir && depth < maxPartDepth:
			err = p.named(ctx, dir+"/"+sub, from, text, depth+1)
		case !isDir && !p.seen[file] && objects.CarriesLine(file):
			err = p.add(ctx, file)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// standsForDir reports whether a file is loaded when its directory is.
func standsForDir(name string) bool {
	return name == "__init__.py" || strings.TrimSuffix(name, path.Ext(name)) == "index"
}

// add verifies a file and adds it.
func (p *parts) add(ctx context.Context, file string) error {
	p.seen[file] = true
	tool := p.tool.Item().Ref
	if len(p.all) == maxParts {
		return fault.New(fault.Limit, "resolve %s: it names more than %d files of its directory", tool, maxParts).
			Advise("put the files into a bundle: rye help bundle")
	}
	if _, _, err := objects.RefOfPath(file); err != nil {
		return fault.Wrap(err, "resolve %s: it names .ai/%s", tool, file)
	}
	v, err := p.t.Item(ctx, file)
	if err != nil || v.IsZero() {
		return fault.Wrap(err, "resolve %s: it names .ai/%s", tool, file)
	}
	it := v.Item()
	if a, b := p.tool.Key(), v.Key(); a != b && p.tool.Patched() == trust.NoPatch && v.Patched() == trust.NoPatch {
		return fault.New(fault.Untrusted, "resolve %s: signed by %s, and it names .ai/%s, signed by %s", tool, a, file, b).
			Mend("rye sign %s %s", tool, it.Ref)
	}
	if p.size += len(it.Raw); p.size > maxBundle {
		return fault.New(fault.Limit, "resolve %s: the files that it names have more than %d bytes", tool, maxBundle)
	}
	p.all = append(p.all, Source{Path: file, Data: it.Raw, Exec: it.Executable(), Sum: it.Sum, Patch: v.Patched()})
	return nil
}

// mentioned returns those names of a directory's entries that the text of a file names, sorted. A
// name in a comment counts too: so a text can name a file that it loads in another way.
func mentioned(file string, text []byte, names map[string]bool) (found []string) {
	name := func(b []byte) {
		if names[string(b)] {
			found = append(found, string(b))
		}
	}
	stem := func(w []byte, exts ...string) {
		for _, ext := range exts {
			name(append(slices.Clone(w), ext...))
		}
	}
	script := slices.Contains(scripts, path.Ext(file))
	for i := 0; i < len(text); {
		j := wordEnd(text, i)
		if j == i {
			i++
			continue
		}
		if j < len(text) {
			switch next := text[j]; {
			case next == '/':
				name(text[i : j+1])
			case next == '.':
				name(text[i:wordEnd(text, j+1)])
			case script && i > 0 && text[i-1] == '/' && (next == '"' || next == '\'' || next == '`'):
				stem(text[i:j], scripts...)
			}
		}
		i = j
	}
	if path.Ext(file) == ".py" {
		for w := range imported(text) {
			stem([]byte(w), ".py", "/")
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// scripts are the extensions that a file of JavaScript or TypeScript leaves out.
var scripts = []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"}

// wordEnd returns the end of the word that begins at i.
func wordEnd(text []byte, i int) int {
	for i < len(text) && nameByte(text[i]) {
		i++
	}
	return i
}

func nameByte(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}

// imported returns the words of the import statements of a Python file.
func imported(text []byte) map[string]bool {
	words := map[string]bool{}
	open := false // inside "from x import ("
	for line := range bytes.Lines(text) {
		line = bytes.TrimLeft(line, " \t")
		if !open && !bytes.HasPrefix(line, []byte("import ")) && !bytes.HasPrefix(line, []byte("from ")) {
			continue
		}
		code, _, _ := bytes.Cut(line, []byte("#"))
		for _, w := range bytes.FieldsFunc(code, func(r rune) bool { return r < 0x80 && (!nameByte(byte(r)) || r == '-') }) {
			words[string(w)] = true
		}
		open = (open || bytes.IndexByte(code, '(') >= 0) && bytes.IndexByte(code, ')') < 0 ||
			bytes.HasSuffix(bytes.TrimRight(code, " \t\r\n"), []byte("\\"))
	}
	return words
}
