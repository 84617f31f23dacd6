package loop

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Program is a loop that can run. It is safe for concurrent use.
type Program struct {
	name string
	code *starlark.Program
}

// Compile reads a program of at most MaxSource bytes and runs nothing of it: its outermost
// statements run with each call of Init and Turn. name, an item's id or a path, appears in
// messages. A program outside the language of docs/format/loop.md is fault.Malformed, with line
// and column.
func Compile(name string, src []byte) (*Program, error) {
	if err := readable(name, src); err != nil {
		return nil, err
	}
	file, err := (&syntax.FileOptions{}).Parse(path.Base(name), src, 0)
	if err != nil {
		return nil, notCompiled(name, err)
	}
	if err := refuse(name, file); err != nil {
		return nil, err
	}
	code, err := starlark.FileProgram(file, predeclared.Has)
	if err != nil {
		return nil, notCompiled(name, err)
	}
	if !defines(file, "init", 1) || !defines(file, "turn", 2) {
		return nil, fault.New(fault.Malformed, "loop %s: want functions init(ctx) and turn(host, state)", name)
	}
	return &Program{name, code}, nil
}

// function runs the outermost statements and returns one of the functions that they define.
func (p *Program) function(t *starlark.Thread, name string) (starlark.Value, error) {
	globals, err := p.code.Init(t, predeclared)
	if err != nil {
		return nil, err
	}
	globals.Freeze()
	return globals[name], nil
}

// readable refuses a program with characters that hide its real text from a reader.
func readable(name string, src []byte) error {
	if len(src) > MaxSource {
		return fault.New(fault.Limit, "loop %s: %d bytes, at most %d are allowed", name, len(src), MaxSource)
	}
	if !utf8.Valid(src) {
		return fault.New(fault.Malformed, "loop %s: not UTF-8", name)
	}
	line := 1
	for _, r := range strings.ReplaceAll(string(src), "\r\n", "\n") {
		if words.Hidden(r) {
			return fault.New(fault.Malformed, "loop %s:%d: the invisible character U+%04X", name, line, r).Advise("delete the character")
		}
		if r == '\n' {
			line++
		}
	}
	return nil
}

func notCompiled(name string, err error) error {
	var syn syntax.Error
	var res resolve.ErrorList
	switch {
	case errors.As(err, &syn):
		return malformed(name, syn.Pos, "%s", words.Clip(words.Printable(syn.Msg), maxMessage))
	case errors.As(err, &res) && len(res) > 0:
		return malformed(name, res[0].Pos, "%s", words.Clip(words.Printable(res[0].Msg), maxMessage))
	}
	return fault.New(fault.Malformed, "loop %s: %s", name, words.Clip(words.Printable(err.Error()), maxMessage))
}

func malformed(name string, at syntax.Position, format string, args ...any) error {
	return fault.New(fault.Malformed, "loop %s:%d:%d: %s", name, at.Line, at.Col, fmt.Sprintf(format, args...))
}

// failure describes the failure of a program with its position and message.
func failure(name string, err error) error {
	var eval *starlark.EvalError
	where := ""
	if errors.As(err, &eval) {
		for i := range eval.CallStack {
			if at := eval.CallStack.At(i); at.Pos.Line > 0 && at.Pos.Filename() != "<builtin>" {
				where = fmt.Sprintf(":%d:%d", at.Pos.Line, at.Pos.Col)
				break
			}
		}
	}
	text := strings.TrimPrefix(err.Error(), "Starlark computation cancelled: ")
	return fault.New(fault.Failed, "loop %s%s: %s", name, where, words.Clip(words.Printable(text), maxMessage))
}
