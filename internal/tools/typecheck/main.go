// Command typecheck checks the types of every package of the module, and of its tests, for
// other systems, without compiling anything. Its arguments are names of systems:
//
//	go run ./internal/tools/typecheck windows darwin
//
// A build for another system compiles the standard library and every dependency anew,
// a minute each on two cores, to find the one thing that goes wrong: a file that one
// system does not have, or has with other names. The types alone tell that. What depends
// on is read for its declarations only; of ours the bodies are checked, too.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

const arch = "amd64"

func main() {
	errs := make([]error, len(os.Args)-1)
	var all sync.WaitGroup
	for i, system := range os.Args[1:] {
		all.Go(func() { errs[i] = check(".", system, "./...") })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// listed is a package in the output of go list, with its files for the system.
type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	ImportMap  map[string]string // imports that mean another package than their path
	DepOnly    bool              // only a dependency, not a match of the patterns
	Module     *struct{ GoVersion string }
}

// check checks the packages that patterns match in dir for one system. It returns all errors of
// all packages.
func check(dir, system string, patterns ...string) error {
	list, err := list(dir, system, patterns)
	if err != nil {
		return fmt.Errorf("%s: %w", system, err)
	}
	var wrong []error
	known := importer{"unsafe": types.Unsafe}
	for _, p := range list { // each comes after its imports
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") { // which go test writes
			continue
		}
		checked, err := known.check(p)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %s: %w", system, p.ImportPath, err))
		}
		known[p.ImportPath] = checked
	}
	return errors.Join(wrong...)
}

func list(dir, system string, patterns []string) ([]*listed, error) {
	cmd := exec.Command("go", append([]string{"list", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,ImportMap,DepOnly,Module"}, patterns...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var all []*listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(listed)
		if err := d.Decode(p); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// importer holds the checked packages, by their import paths.
type importer map[string]*types.Package

func (known importer) check(p *listed) (*types.Package, error) {
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.Dir, name)
		}
		f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	var wrong []error
	conf := types.Config{
		Importer:         imports{known, p.ImportMap},
		Sizes:            types.SizesFor("gc", arch),
		IgnoreFuncBodies: p.DepOnly,
		Error:            func(err error) { wrong = append(wrong, err) },
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		conf.GoVersion = "go" + p.Module.GoVersion
	}
	checked, _ := conf.Check(p.ImportPath, set, files, nil) // its error is the first reported one
	return checked, errors.Join(wrong...)
}

// imports resolves the imports of one package.
type imports struct {
	known importer
	named map[string]string
}

func (i imports) Import(path string) (*types.Package, error) {
	if p := i.known[cmp.Or(i.named[path], path)]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s: it is not in the list, or could not be read", path)
}
