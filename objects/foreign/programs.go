package foreign

import (
	"bytes"
	"path"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// language is a script's extension and runtime.
type language struct {
	ext, runtime string
}

// languages maps the program after "#!", or the extension, to the language. An empty one has
// no runtime.
var languages = map[string]language{
	"bash": {".sh", "rye/core/runtimes/bash_runtime"}, "zsh": {}, "sh": {".sh", "rye/core/runtimes/sh_runtime"},
	"dash": {".sh", "rye/core/runtimes/sh_runtime"}, "ksh": {},
	"python": {".py", pythonScript}, "node": {".js", "rye/core/runtimes/node_runtime"},
	".sh": {".sh", "rye/core/runtimes/bash_runtime"}, ".bash": {".bash", "rye/core/runtimes/bash_runtime"},
	".py": {".py", pythonScript}, ".js": {".js", "rye/core/runtimes/node_runtime"}, ".mjs": {".mjs", "rye/core/runtimes/node_runtime"},
	".cjs": {".cjs", "rye/core/runtimes/node_runtime"}, ".ts": {".ts", "rye/core/runtimes/typescript_runtime"},
}

const pythonScript = "rye/core/runtimes/python_script_runtime"

// languageOf finds a script's language by its first line, else by its name. An interpreter
// without a runtime gives false for any name.
func languageOf(f File) (language, bool) {
	ext := path.Ext(f.Path)
	if name, _ := objects.Interpreter(f.Data); name != "" {
		l, ok := languages[name]
		if by, known := languages[ext]; known && l.runtime != "" {
			l.ext = by.ext
		}
		return l, ok && l.runtime != ""
	}
	l, ok := languages[ext]
	return l, ok && ext != ""
}

// programs takes a folder with an entry as one bundle. Otherwise it takes each script at the
// top of the folder as a separate tool.
func (r *reading) programs() error {
	entry := r.wish.Entry
	if entry == "" {
		entry = r.mainFile()
	}
	if entry != "" {
		return r.program(entry)
	}
	for _, f := range r.tree.Files {
		if _, ok := languageOf(f); !ok || strings.Contains(f.Path, "/") {
			continue
		}
		r.used[f.Path] = true
		if err := r.script(f); err != nil {
			r.refuse(f.Path, err)
		}
	}
	return nil
}

// mainFile returns the only file "main.*" at the top. Without one, it returns the only script
// at the top of a folder that has subfolders. Otherwise it returns "".
func (r *reading) mainFile() string {
	var mains, scripts []string
	deep := false
	for _, f := range r.tree.Files {
		if strings.Contains(f.Path, "/") {
			deep = true
			continue
		}
		if strings.HasPrefix(f.Path, "main.") {
			mains = append(mains, f.Path)
		}
		if _, ok := languageOf(f); ok {
			scripts = append(scripts, f.Path)
		}
	}
	switch {
	case len(mains) == 1:
		return mains[0]
	case len(scripts) == 1 && deep:
		return scripts[0]
	}
	return ""
}

// program takes a folder as one bundle, and names its entry main.
func (r *reading) program(entry string) error {
	if r.wish.Kind != "" && r.wish.Kind != string(objects.Tool) {
		return fault.New(fault.Usage, "add: a folder with an entry is a tool, not a %s", words.Brief(r.wish.Kind)).Advise("leave out --kind")
	}
	id, dir, err := r.bundleID(slug(r.tree.Name))
	if err != nil {
		return err
	}
	found := Found{Ref: objects.Ref{Kind: objects.Tool, ID: id}, What: "program", Name: r.tree.Name, From: ".", Dir: dir}
	b := r.pack(".", dir, "")
	found.Lost, found.Left = b.lost, b.lost
	for _, f := range b.files {
		if f.Path != dir+"/"+entry {
			found.Files = append(found.Files, f)
			continue
		}
		main, lost, err := entryFile(f, dir)
		if err != nil {
			return fault.Wrap(err, "add %q", entry)
		}
		if path.Base(main.Path) != entry {
			lost = append(lost, entry+" is called "+path.Base(main.Path)+" here")
		}
		found.Ref, _, _ = objects.RefOfPath(main.Path)
		found.Files, found.Lost = append(found.Files, main), append(found.Lost, lost...)
	}
	if len(found.Files) == 0 || found.Ref.ID != id || !hasEntry(found) {
		return fault.New(fault.NotFound, "add: there is no %q in %s", words.Brief(entry), words.Brief(r.tree.Name)).
			Advise("--entry names a file below the folder, such as run.py")
	}
	r.found = append(r.found, found)
	return nil
}

func hasEntry(f Found) bool {
	for _, file := range f.Files {
		if ref, _, err := objects.RefOfPath(file.Path); err == nil && ref == f.Ref {
			return true
		}
	}
	return false
}

// entryFile makes a file the entry of the bundle in dir.
func entryFile(f File, dir string) (File, []string, error) {
	ext := path.Ext(f.Path)
	l, known := languageOf(f)
	if known && ext == "" {
		ext = l.ext
	}
	p := dir + "/main" + ext
	return described(File{p, f.Data, f.Executable}, l, known)
}

// script takes one file as a tool.
func (r *reading) script(f File) error {
	l, known := languageOf(f)
	ext := path.Ext(f.Path)
	if _, plain := languages[ext]; known && !plain {
		ext = l.ext
	}
	id, err := r.id(mainly(strings.TrimSuffix(path.Base(f.Path), path.Ext(f.Path))))
	if err != nil {
		return err
	}
	found := Found{Ref: objects.Ref{Kind: objects.Tool, ID: id}, What: "script", From: f.Path}
	file, lost, err := described(File{found.Ref.Path(ext), f.Data, f.Executable}, l, known)
	if err != nil {
		return err
	}
	found.Files, found.Lost = []File{file}, lost
	r.found = append(r.found, found)
	return nil
}

// described adds the needed metadata to a program without any. It returns a program with
// metadata unchanged.
func described(f File, l language, known bool) (File, []string, error) {
	p, data := f.Path, f.Data
	it, err := objects.Parse(p, data)
	if err == nil && len(it.Meta.Fields) > 0 && !it.Meta.Part {
		return f, nil, nil // signing reports missing metadata
	}
	if err != nil {
		return File{}, nil, err
	}
	if !known {
		return File{}, nil, fault.New(fault.Malformed, "no runtime fits its first line or its name").
			Advise("rye new tool <id> --lang runtime, for a language of your own")
	}
	about := plain(about(data), 200)
	if about == "" {
		about = "Runs " + path.Base(p) + "."
	}
	lost := []string{"metadata was written into it: version 0.1.0, " + path.Base(l.runtime) + ", its description"}
	out := insert(p, data, l.runtime, about)
	if l.runtime == pythonScript {
		if bytes.Contains(data, []byte("\ndef execute(")) {
			out = insert(p, data, "rye/core/runtimes/python_function_runtime", about)
		} else {
			lost = append(lost, "it gets --params <JSON> and --project-path <path>, not the arguments that it got before")
		}
	} else {
		lost = append(lost, "it gets its parameters as JSON in its first argument, not the arguments that it got before")
	}
	it, err = objects.Parse(p, out)
	if err == nil {
		if ps := it.Validate(); len(ps) > 0 {
			err = invalid(ps[0])
		}
	}
	return File{p, out, f.Executable}, lost, err
}

// insert writes the metadata into a script: after a "#!" line, or at the top without one. In
// Python it goes to the end, because a docstring and imports from __future__ must come first.
func insert(p string, data []byte, runtime, about string) []byte {
	if path.Ext(p) == ".py" {
		out := append(bytes.TrimRight(data, "\n"), "\n\n"...)
		if !bytes.Contains(data, []byte("\n__version__")) {
			out = append(out, "__version__ = \"0.1.0\"\n"...)
		}
		return append(out, "__executor_id__ = \""+runtime+"\"\n__tool_description__ = "+quoted(about)+
			"\n__needs__ = {\"read\": [], \"write\": [], \"net\": []}\n"...)
	}
	block, _ := objects.CommentBlock(p, "version: 0.1.0\nexecutor_id: "+runtime+"\ndescription: "+quoted(about)+"\nneeds: {read: [], write: [], net: []}")
	var head []byte
	if bytes.HasPrefix(data, []byte("#!")) {
		end := bytes.IndexByte(data, '\n') + 1
		if end == 0 {
			data, end = append(bytes.Clone(data), '\n'), len(data)+1
		}
		head, data = data[:end], data[end:]
	}
	return append(append(append(bytes.Clone(head), block...), '\n'), data...)
}

// about returns the first text in the comment or docstring at the beginning of a script.
func about(data []byte) string {
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		if i > 20 || line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "//") && !strings.HasPrefix(line, `"""`) {
			return ""
		}
		if strings.HasPrefix(line, "#!") {
			continue
		}
		if s := strings.TrimSpace(strings.Trim(line, `#/"*-= `)); s != "" && !strings.HasPrefix(s, "-*-") && !strings.HasPrefix(s, "shellcheck") {
			return s
		}
	}
	return ""
}

// Lone reads one file that is not part of a folder: a script without metadata, a rule, a
// command or an agent. It becomes an item, and no bundle. ok is false for a file that rye should
// read unchanged.
func Lone(t Tree, w Wish) (found Found, ok bool, err error) {
	r := newReading(t, w)
	f := t.Files[0]
	if p, is := r.partAt(f); is && !p.context {
		found, err = r.alone(p)
		return found, err == nil, err
	}
	if _, known := languageOf(f); !known || w.Kind != "" && w.Kind != string(objects.Tool) {
		return found, false, nil
	}
	if it, err := objects.Parse(objects.Ref{Kind: objects.Tool, ID: "x/x"}.Path(path.Ext(f.Path)), f.Data); err == nil && len(it.Meta.Fields) > 0 {
		return found, false, nil
	}
	if err := r.script(f); err != nil {
		return found, false, err
	}
	return r.found[0], true, nil
}

// alone makes an item of a part.
func (r *reading) alone(p part) (found Found, err error) {
	kind, text, lost, err := convert(p)
	if err != nil {
		return found, fault.Wrap(err, "add %s", words.Quote(words.Brief(p.Path)))
	}
	id, err := r.id(idPath(p.name))
	if err != nil {
		return found, err
	}
	found = Found{Ref: objects.Ref{Kind: kind, ID: id}, What: p.client + " " + p.what, From: p.Path, Lost: lost}
	found.Files = []File{{Path: found.Ref.Path(".md"), Data: []byte(text)}}
	it, err := objects.Parse(found.Files[0].Path, found.Files[0].Data)
	if err != nil {
		return found, err
	}
	if ps := it.Validate(); len(ps) > 0 {
		return found, invalid(ps[0])
	}
	return found, nil
}
