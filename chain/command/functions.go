package command

import (
	"iter"

	"mvdan.cc/sh/v3/syntax"
)

// functions holds the functions of a text, in the order of the text.
type functions struct {
	named map[string]*function
	order []string
}

type function struct {
	body           *syntax.Stmt
	called, active bool
}

// define records a function. It replaces an earlier one of the same name.
func (fs *functions) define(name string, body *syntax.Stmt) {
	if fs.named == nil {
		fs.named = map[string]*function{}
	}
	if fs.named[name] == nil {
		fs.order = append(fs.order, name)
	}
	fs.named[name] = &function{body: body}
}

// get returns a function, or nil.
func (fs *functions) get(name string) *function { return fs.named[name] }

// uncalled returns the functions without a call so far.
func (fs *functions) uncalled() iter.Seq[*function] {
	return func(yield func(*function) bool) {
		for _, name := range fs.order {
			if f := fs.named[name]; !f.called && !yield(f) {
				return
			}
		}
	}
}
