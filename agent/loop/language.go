package loop

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/rye-os/rye/internal/words"
)

// predeclared are the names that every program has besides Starlark's own. Their values never
// change.
var predeclared = names()

func names() starlark.StringDict {
	d := starlark.StringDict{"next": nextModule{}}
	for _, name := range []string{"bytes", "getattr", "hash"} {
		d[name] = starlark.NewBuiltin(name, func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
			return nil, fmt.Errorf("%s is not in the language of loops", name)
		})
	}
	return d
}

// refuse returns the first part of a program that is outside the language, as an error. The
// resolver of Starlark refuses while, recursive names, sets, and statements outside of functions.
func refuse(name string, f *syntax.File) (err error) {
	depth := 0
	syntax.Walk(f, func(n syntax.Node) bool {
		if n == nil {
			depth--
			return false
		}
		if err == nil {
			err = refuseNode(name, n, depth)
		}
		if err == nil {
			depth++
		}
		return err == nil
	})
	return err
}

func refuseNode(name string, n syntax.Node, depth int) error {
	if depth > maxCode {
		return malformed(name, syntax.Start(n), "nested deeper than %d levels", maxCode)
	}
	switch n := n.(type) {
	case *syntax.LoadStmt:
		return malformed(name, n.Load, "load is not in the language of loops")
	case *syntax.Literal:
		if n.Token == syntax.BYTES {
			return malformed(name, n.TokenPos, "bytes are not in the language of loops")
		}
	case *syntax.Ident:
		return refuseName(name, n)
	}
	return nil
}

// refuseName restricts names to ASCII: elsewhere, letters of different alphabets look alike.
func refuseName(name string, x *syntax.Ident) error {
	for i := range len(x.Name) {
		if x.Name[i] >= 0x80 {
			return malformed(name, x.NamePos, "the name %q has letters beyond ASCII", words.Brief(x.Name))
		}
	}
	if len(x.Name) > maxName {
		return malformed(name, x.NamePos, "a name of %d bytes, at most %d are allowed", len(x.Name), maxName)
	}
	return nil
}

// defines reports whether a program defines a function with this number of parameters, none of
// which is a *list or has a default.
func defines(f *syntax.File, name string, params int) bool {
	for _, s := range f.Stmts {
		def, ok := s.(*syntax.DefStmt)
		if !ok || def.Name.Name != name || len(def.Params) != params {
			continue
		}
		for _, p := range def.Params {
			if _, plain := p.(*syntax.Ident); !plain {
				return false
			}
		}
		return true
	}
	return false
}
