package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/strict"
)

// Arg is the first argument of a rye that runs as a builtin.
const Arg = "__builtin"

// MaxInput is the most bytes of an Input in JSON. The parameters alone may have 8 MiB.
const MaxInput = 24 << 20

// Input is all the data of a function. Paths are absolute and resolved.
type Input struct {
	Build     string          `json:"build"`  // of the calling program; another build is refused
	Params    json.RawMessage `json:"params"` // one object
	Project   string          `json:"project,omitempty"`
	UserSpace string          `json:"user_space,omitempty"`
	Program   string          `json:"program,omitempty"` // the interpreter that the chain requested
	Protect   []string        `json:"protect,omitempty"` // never written
	Hide      []string        `json:"hide,omitempty"`    // never read or written
}

// Func is one function. Its value must encode as a JSON object; its error carries a code of
// fault.
type Func func(ctx context.Context, in Input) (any, error)

// find returns a function by name. It makes the table at each call, so that a start of rye
// without a builtin builds nothing.
func find(name string) Func {
	return map[string]Func{
		"bash": bash, "edit_lines": editLines, "glob": glob, "grep": grep,
		"logs": logs, "ls": list, "lsp": lsp, "read": read, "system": system, "write": write,
	}[name]
}

// Known reports whether there is a function of this name.
func Known(name string) bool { return find(name) != nil }

// Shell names the parameter whose text a function runs as a command; "" for every other function.
// The policy analyses that text.
func Shell(name string) string {
	if name == "bash" {
		return "command"
	}
	return ""
}

// Starts reports whether a function runs a program of the system. The policy treats such a
// function like any other process.
func Starts(name string) bool { return name == "bash" || name == "lsp" }

// failed marks an answer that is a failure without an error: a command that ran without success.
type failed interface{ failed() bool }

// Main is the main function of such a process. args has the function's name; build is this
// program's. It returns the exit status: 0, or 1 for a failure.
func Main(ctx context.Context, args []string, build string, stdin io.Reader, stdout io.Writer) int {
	value, err := serve(ctx, args, build, stdin)
	exit := 0
	if err != nil {
		err = plain(err)
		value, exit = struct {
			Success bool       `json:"success"`
			Error   string     `json:"error"`
			Code    fault.Code `json:"code"`
			Hint    fault.Hint `json:"hint,omitzero"`
		}{false, err.Error(), fault.CodeOf(err), fault.HintOf(err)}, 1
	}
	if f, ok := value.(failed); ok && f.failed() {
		exit = 1
	}
	enc := json.NewEncoder(stdout)
	enc.SetEscapeHTML(false)
	if enc.Encode(value) != nil {
		return 1
	}
	return exit
}

func serve(ctx context.Context, args []string, build string, stdin io.Reader) (value any, err error) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(os.Stderr, "%s\n", debug.Stack())
			err = fault.New(fault.Failed, "this is a bug in rye: %v", r)
		}
	}()
	if len(args) != 1 || !Known(args[0]) {
		return nil, fault.New(fault.Usage, "builtin %q: there is no such function", args)
	}
	raw, err := io.ReadAll(io.LimitReader(stdin, MaxInput+1))
	if err != nil {
		return nil, fault.New(fault.Failed, "read the input: %w", err)
	}
	var in Input
	if err := strict.Decode(raw, MaxInput, &in); err != nil {
		return nil, fault.New(fault.Usage, "read the input: %w", err)
	}
	if in.Build != build {
		return nil, fault.New(fault.Conflict, "build %q of rye called build %q: rye was replaced while it ran", in.Build, build).
			Advise("restart the running rye")
	}
	return find(args[0])(ctx, in)
}

// params reads a function's parameters. An unknown name is refused.
func params(in Input, into any) error {
	raw := in.Params
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	if err := strict.Decode(raw, MaxInput, into); err != nil {
		return fault.New(fault.Usage, "parameters: %w", err)
	}
	return nil
}

// plain gives an error of the system its fault code.
func plain(err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.NotFound, "%w", err)
	case errors.Is(err, fs.ErrPermission):
		return fault.New(fault.Denied, "%w", err)
	}
	return err
}

// bounded returns a number between least and most, or def when it is absent.
func bounded(name string, v *int, def, least, most int) (int, error) {
	if v == nil {
		return def, nil
	}
	if *v < least || *v > most {
		return 0, fault.New(fault.Usage, "parameters: %s is %d, want %d to %d", name, *v, least, most)
	}
	return *v, nil
}
