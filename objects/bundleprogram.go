package objects

import (
	"bytes"
	"encoding/hex"
	"path"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// A program of a bundle is a file that runs, and that was made for no rye: it has no metadata, takes
// arguments and a standard input, and is at a path where no item can be. It becomes a tool from its
// entry in the manifest alone: the manifest gives its id, its mode and its needs, and line 1 or the
// extension its runtime.

// ProgramRef returns the ref of the program at a path of a bundle. An id has no room for every path,
// so the path is in lower case, and "_" stands for each other character that an id lacks:
// tool:acme/tide/scripts/tide_py for scripts/tide.py. A path with anything else (blanks, other
// scripts), or that is too long for an id, is replaced by a part of its SHA-256. ProgramRef returns
// the zero Ref for a ref that is no bundle below bundles/.
func ProgramRef(bundle Ref, p string) Ref {
	if bundle.PackageDir() == "" || p == "" {
		return Ref{}
	}
	spelled := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_', c == '-', c == '/':
			return c
		case c >= 'A' && c <= 'Z':
			return c + 'a' - 'A'
		case c == '.':
			return '_'
		}
		return -1
	}, p)
	id, err := ParseID(string(bundle.ID) + "/" + spelled)
	if len(spelled) != len(p) || err != nil {
		sum := DigestOf([]byte(p))
		id = bundle.ID + "/program_" + ID(hex.EncodeToString(sum[:8]))
	}
	return Ref{Kind: Tool, ID: id}
}

// RefOfProgram returns the ref of the program at a path below .ai, if a bundle can have one there.
func RefOfProgram(p string) (Ref, error) {
	_, _, item := RefOfPath(p)
	if ref, ok := programNamed(strings.TrimPrefix(p, BundlesDir+"/")); ok && item != nil && strings.HasPrefix(p, BundlesDir+"/") {
		return ref, nil
	}
	return Ref{}, fault.New(fault.Usage, "path %q: no program of a bundle can be there", words.Brief(p))
}

// ParseName is ParseRef for a name that somebody gives. It also accepts a program of a bundle by its
// path: tool:acme/tide/scripts/tide.py.
func ParseName(s string) (Ref, error) {
	ref, err := ParseRef(s)
	if err == nil {
		return ref, nil
	}
	if rest, ok := strings.CutPrefix(s, string(Tool)+":"); ok {
		if ref, ok := programNamed(rest); ok {
			return ref, nil
		}
	}
	return ref, err
}

// IsShort reports whether a name can be one without a kind: an id or its end, or the path of a program
// behind the name of its bundle.
func IsShort(name string) bool {
	_, err := ParseID(name)
	_, program := programNamed(name)
	return err == nil || program
}

// programNamed reads the name of a bundle and a path in it: acme/tide/scripts/tide.py.
func programNamed(name string) (Ref, bool) {
	parts := strings.SplitN(name, "/", 3)
	if len(parts) < 3 || CheckMember(parts[2]) != nil {
		return Ref{}, false
	}
	id, err := ParseID(parts[0] + "/" + parts[1])
	if err != nil {
		return Ref{}, false
	}
	return ProgramRef(Ref{Kind: Bundle, ID: id}, parts[2]), true
}

// IsProgram reports whether a file of a bundle is a program: its mode is 0755, or its extension is
// that of a runtime, and no item can have its path.
func (m *Manifest) IsProgram(f File) bool {
	dir := m.Ref().PackageDir()
	if dir == "" || !f.Executable && runtimeOfExt(f.Path) == "" {
		return false
	}
	_, _, err := RefOfPath(dir + "/" + f.Path)
	return err != nil
}

// runtimeOfExt returns the runtime for a script by its extension alone; "" for none.
func runtimeOfExt(p string) ID {
	runtime, _, _ := ExecutorOf(path.Ext(p), nil)
	return programRuntime(runtime)
}

// programRuntime returns the runtime that runs a whole file where the table has one that calls a
// function of it.
func programRuntime(runtime ID) ID {
	if runtime == PythonRuntime {
		return pythonScripts
	}
	return runtime
}

const (
	pythonScripts ID = "rye/core/runtimes/python_script_runtime"
	nativeRuntime ID = "rye/core/runtimes/native_runtime"
)

// LocateProgram returns the path, below the bundle's directory, of the program with a ref, or "" when
// there is none. Two programs with the same ref are fault.Conflict.
func (m *Manifest) LocateProgram(ref Ref) (string, error) {
	found := ""
	for _, f := range m.Files {
		if !m.IsProgram(f) || ProgramRef(m.Ref(), f.Path) != ref {
			continue
		}
		if found != "" {
			return "", fault.New(fault.Conflict, "bundle %s: %s and %s are both %s", m.ID, words.Quote(found), words.Quote(f.Path), ref).
				Advise("rename one of them, then rye sign %s", m.Ref())
		}
		found = f.Path
	}
	return found, nil
}

// Program returns the program at a path, whose content is data, as a tool. It does not compare data
// with the manifest. A file that rye cannot run is fault.Malformed.
func (m *Manifest) Program(p string, data []byte) (*Item, error) {
	f, listed := m.File(p)
	if !listed || !m.IsProgram(f) {
		return nil, fault.New(fault.NotFound, "bundle %s: no program %s", m.ID, words.Quote(p))
	}
	it := &Item{Ref: ProgramRef(m.Ref(), p), Path: m.Ref().PackageDir() + "/" + p, Raw: data, Body: data}
	it.Sum = DigestOf(data)
	it.Digest = it.Sum
	runtime, why := programExecutor(f, data)
	if why != "" {
		return nil, fault.New(fault.Malformed, "%s: rye cannot run %s: %s", it.Ref, words.Quote(p), why)
	}
	it.Meta = Meta{Name: path.Base(p), Version: m.Version, Executor: runtime, Inferred: true, Program: true, Needs: m.Needs, Schema: programSchema,
		Description: "The program " + p + " of bundle " + string(m.Ref().ID)}
	it.Meta.Needs.Declared = true // a manifest without needs gives none
	if runtime == nativeRuntime {
		// A script finds its own directory by its path, so it runs from the directory of the run.
		it.Meta.Config = map[string]any{"program": path.Base(p), "sealed": !bytes.HasPrefix(data, []byte("#!"))}
	}
	return it, nil
}

// programSchema is the schema of every program: the arguments, and the text of its standard input.
var programSchema = map[string]any{
	"type": "object", "additionalProperties": false,
	"properties": map[string]any{
		"args":  map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "description": "arguments"},
		"stdin": map[string]any{"type": "string", "description": "standard input"},
	},
}

// programExecutor returns the runtime of a program: by its #! line, else by its extension. A file with
// the mode 0755 that no runtime knows is started as it is, as the system would.
func programExecutor(f File, data []byte) (runtime ID, why string) {
	name, options := Interpreter(data)
	ext := path.Ext(f.Path)
	if name == "" {
		runtime = runtimeOfExt(f.Path)
	} else if !options {
		runtime = interpreters[name]
		if by, _, _ := ExecutorOf(ext, data); by == TypeScriptRuntime {
			runtime = by
		}
	}
	switch {
	case runtime != "":
		return runtime, ""
	case f.Executable && (name != "" || isBinary(data)):
		return nativeRuntime, ""
	case f.Executable:
		return "", "it is a text, and line 1 names no interpreter"
	case options:
		return "", "line 1 gives options to " + words.Brief(name) + ", and only a file with the mode 0755 gets them"
	}
	return "", "line 1 names " + words.Brief(name) + ", which is no runtime of rye, and its mode is not 0755"
}

// interpreters are the runtimes of programs by the interpreter that line 1 names.
var interpreters = map[string]ID{
	"bash": BashRuntime, "sh": ShRuntime, "python": pythonScripts,
	"node": NodeRuntime, "nodejs": NodeRuntime,
}

// isBinary reports whether the system may know how to start a file: no format of programs has a header
// without zeros, and no script has a zero there.
func isBinary(data []byte) bool { return bytes.IndexByte(data[:min(len(data), 1024)], 0) >= 0 }
