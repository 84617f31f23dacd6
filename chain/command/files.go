package command

import (
	"path"
	"slices"
	"strings"
)

// files are the known files that a text wrote, and its working directory.
type files struct {
	held    map[string]value // by place: a file's content, and its origin
	fetched []string         // directories that came from the network
	foreign []string         // those of them from an unusual host
	cwd     string           // "" in the first directory of the text
}

// place returns a file's path from the first directory of the text, so that two spellings are
// equal.
func (f *files) place(p string) string {
	if p == "" {
		return ""
	}
	if !path.IsAbs(p) && p[0] != '~' {
		p = path.Join(f.cwd, p)
	}
	return path.Clean(p)
}

// spelled returns a file's name as the text spells it, or its place after a change of directory.
func (f *files) spelled(p string) string {
	if f.cwd != "" && !path.IsAbs(p) && p != "" {
		return f.place(p)
	}
	return p
}

// here returns the working directory; "" is the first one.
func (f *files) here() string { return f.cwd }

// count returns the number of files that the text wrote.
func (f *files) count() int { return len(f.held) }

// enter changes the working directory.
func (f *files) enter(dir string) { f.cwd = dir }

// known returns a file that the text wrote; false for every other.
func (f *files) known(p string) (value, bool) {
	v, ok := f.held[f.place(p)]
	return v, ok
}

// put sets the content of a file.
func (f *files) put(p string, v value) {
	if f.held == nil {
		f.held = map[string]value{}
	}
	f.held[f.place(p)] = v
}

// installed returns the fetched file of this name that the text put into a directory of programs.
func (f *files) installed(name string) (string, bool) {
	for at, v := range f.held {
		if v.is(fetched) && base(at) == name && strings.HasSuffix(path.Dir(at), "bin") {
			return at, true
		}
	}
	return "", false
}

// remove forgets a file.
func (f *files) remove(p string) { delete(f.held, f.place(p)) }

// fetch records a directory that came from the network, maybe from an unusual host.
func (f *files) fetch(dir string, foreign bool) {
	f.fetched = append(f.fetched, f.place(dir))
	if foreign {
		f.foreign = append(f.foreign, f.place(dir))
	}
}

// brought reports whether a place is inside a directory that came from the network.
func (f *files) brought(at string) bool { return inside(at, f.fetched) }

// broughtForeign reports the same of the directories from unusual hosts.
func (f *files) broughtForeign(at string) bool { return inside(at, f.foreign) }

func inside(at string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		return (at == dir || strings.HasPrefix(at, dir+"/") || dir == ".") && path.IsAbs(at) == path.IsAbs(dir)
	})
}

// read returns the known content of a file.
func (f *files) read(p string) value {
	if connection(p) {
		return value{from: fetched}
	}
	if v, ok := f.known(p); ok {
		return v
	}
	v := value{from: partial}
	if secretPath(p) {
		v.from |= secret
	}
	if documents.has(strings.ToLower(path.Ext(p))) {
		v.from |= document
	}
	return v
}

// carries reports whether a word holds a secret, or names a file that does: file, @file,
// name=@file, --post-file=file.
func (f *files) carries(v value) bool { return f.holds(v, secret) }

// holds reports the same of any origin.
func (f *files) holds(v value, what origin) bool {
	if v.is(what) {
		return true
	}
	for t := v.text; ; {
		if end := strings.IndexByte(t, ';'); end > 0 {
			t = t[:end]
		}
		if !strings.ContainsAny(t, " \t\n") && !strings.HasPrefix(t, "http") && f.read(t).is(what) {
			return true
		}
		i := strings.IndexAny(t, "=@<:")
		if i < 0 || strings.HasPrefix(t[i:], "://") {
			return false
		}
		t = t[i+1:]
	}
}

// contents returns the origins of the contents of the files among some words.
func (f *files) contents(args []value) (out value) {
	for _, v := range args {
		out.from |= v.from & (secret | fetched | unseen | built)
		t := v.text
		if i := strings.IndexByte(t, '='); i > 0 && (t[0] == '-' || strings.HasPrefix(t, "if=")) {
			t = t[i+1:]
		}
		if t != "" && t[0] != '-' {
			out.from |= f.read(t).from &^ partial
		}
	}
	return out
}
