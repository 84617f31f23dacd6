package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is one way to break the program.
type mutant struct {
	name string // unique: lower case, with hyphens
	file string // slash path below the module's root
	pkg  string // of the test, in the form of the go command
	test string // that must fail; with its subtests, by slashes
	on   string // the system that it needs; "" for any

	old, new string
	patch    string // hunks instead of the two texts; then pkg may be several, and test is an expression
}

// read reads every file of a directory of mutants. It refuses a repeated name.
func read(dir fs.FS) (all []mutant, err error) {
	files, err := fs.Glob(dir, "*.txt")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		text, err := fs.ReadFile(dir, f)
		if err != nil {
			return nil, err
		}
		some, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		for _, m := range some {
			if slices.ContainsFunc(all, func(o mutant) bool { return o.name == m.name }) {
				return nil, fmt.Errorf("%s: there are two mutants %s", f, m.name)
			}
			all = append(all, m)
		}
	}
	return all, nil
}

// parse reads mutants. Each is
//
//	mutant object-not-compared
//	file store/disk_objects.go
//	test ./store TestComponents
//	--- old
//				return compare(d.format, id, t, data)
//	--- new
//				return nil
//	--- end
//
// with "on linux" if its test runs only there. Both texts are whole lines, and old must be in the
// file exactly once. Between mutants there may be empty lines, and comments, which begin with #.
func parse(text string) (all []mutant, err error) {
	var m mutant
	var into *string
	for n, line := range slices.Collect(strings.Lines(text)) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case into != nil && strings.TrimSpace(line) == "--- new" && into == &m.old:
			into = &m.new
		case into == &m.new && strings.TrimSpace(line) == "--- end":
			if err = m.complete(); err == nil {
				all, m, into = append(all, m), mutant{}, nil
			}
		case into != nil:
			*into += line
		case word == "" && rest == "" || strings.HasPrefix(word, "#"):
		case word == "---" && rest == "old":
			into = &m.old
		default:
			err = m.set(word, rest)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	if m != (mutant{}) {
		return nil, fmt.Errorf("mutant %s: no --- end", m.name)
	}
	return all, nil
}

func (m *mutant) set(word, rest string) error {
	field := map[string]*string{"mutant": &m.name, "file": &m.file, "on": &m.on}[word]
	switch {
	case rest == "":
	case word == "test" && m.test == "":
		m.pkg, m.test, _ = strings.Cut(rest, " ")
		return nil
	case field != nil && *field == "":
		*field = rest
		return nil
	}
	return fmt.Errorf("%q: want mutant, file, test, on or --- old, each once", word+" "+rest)
}

func (m *mutant) complete() error {
	if m.name == "" || m.file == "" || m.old == "" || m.old == m.new || !strings.HasPrefix(m.pkg, "./") || !strings.HasPrefix(m.test, "Test") {
		return fmt.Errorf("mutant %q: want a name, a file, a test and two texts that differ", m.name)
	}
	return nil
}

// tested returns an error unless the test of a mutant exists: its function, or the file of a
// script.
func (m *mutant) tested(root string) error {
	dir := filepath.Join(root, filepath.FromSlash(m.pkg))
	name, below, _ := strings.Cut(m.test, "/")
	if name == "TestScript" {
		_, err := os.Stat(filepath.Join(dir, "testdata", "script", below+".txtar"))
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return err
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		if strings.Contains(string(text), "\nfunc "+name+"(t *testing.T)") {
			return nil
		}
	}
	return fmt.Errorf("there is no %s in %s", name, m.pkg)
}

// apply returns the text of the mutant's file with the mutation.
func (m *mutant) apply(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.file)))
	if err != nil {
		return "", err
	}
	all := []edit{{m.old, m.new}}
	if m.patch != "" {
		if all, err = edits(m.patch); err != nil {
			return "", err
		}
	}
	out := "\n" + string(text)
	for _, e := range all {
		if n := strings.Count(out, "\n"+e.old); n != 1 {
			return "", fmt.Errorf("its old text is %d times in %s, want once", n, m.file)
		}
		out = strings.Replace(out, "\n"+e.old, "\n"+e.new, 1)
	}
	return strings.TrimPrefix(out, "\n"), nil
}
