package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/app"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace"
)

// task is one run of a command: its arguments and its environment.
type task struct {
	ctx    context.Context
	name   string // of the command: "rye key new"
	args   []string
	flags  *app.Flags
	screen *app.Screen
	out    *printer
	exit   int // status to end with when there is no error; -1 for 0

	argv    []string // the whole command line, without the program's name
	parts   Parts
	threads rye.Threads // for commands that run in the engine

	env *app.App // opened before the command runs, unless its spec says alone
	w   *workspace.Workspace
}

// open reads the environment and opens the workspace.
func (t *task) open() (err error) {
	if t.env, err = app.New(t.ctx, *t.flags, t.screen); err != nil {
		return err
	}
	if t.parts.Words != nil {
		t.env.Words, t.env.Turns = t.parts.Words(t.env), t.parts.Turns(t.env)
	}
	t.env.Historian = t.parts.Historian
	t.w = t.env.Open()
	return nil
}

// verbs returns the implementation of the verbs for items: the workspace, or the outer rye when
// a tool that may call it runs this one.
func (t *task) verbs() rye.Verbs {
	if t.env.Back != nil {
		return t.env.Back
	}
	return t.w
}

// verb is the shape of the facade's verbs: a request in, a report out.
type verb[Q, R any] func(context.Context, rye.Caller, Q) (R, error)

// none is the request of a verb without one, after bare gave it the shape of a verb.
var none struct{}

func bare[R any](run func(context.Context, rye.Caller) (R, error)) verb[struct{}, R] {
	return func(ctx context.Context, c rye.Caller, _ struct{}) (R, error) { return run(ctx, c) }
}

// answer runs a verb and prints its report.
func answer[Q, R any](t *task, run verb[Q, *R], q Q, print func(*printer, *R)) error {
	rep, err := run(t.ctx, t.env.Caller, q)
	if err != nil {
		return err
	}
	return t.out.show(rep, func() { print(t.out, rep) })
}

// answerAlways is answer for a verb that may return a report together with an error.
func answerAlways[Q, R any](t *task, run verb[Q, *R], q Q, print func(p *printer, rep *R, ok bool)) error {
	rep, err := run(t.ctx, t.env.Caller, q)
	if rep == nil {
		return err
	}
	return cmp.Or(t.out.show(rep, func() { print(t.out, rep, err == nil) }), err)
}

// answerEach runs a verb and prints its reports, one after the other.
func answerEach[Q, R any](t *task, run verb[Q, []R], q Q, print func(*printer, R)) error {
	all, err := run(t.ctx, t.env.Caller, q)
	if err != nil {
		return err
	}
	return each(t.out, all, print)
}

// answerRows runs a verb and prints its reports as the rows of a table, and, unless noun
// is "", how many there are.
func answerRows[Q, R any](t *task, run verb[Q, []R], q Q, noun string, row func(R) []any) error {
	all, err := run(t.ctx, t.env.Caller, q)
	if err == nil {
		err = rows(t.out, all, row)
	}
	if err == nil && noun != "" {
		t.out.infof("%s", words.Plural(len(all), noun))
	}
	return err
}

// errPrinted marks an error whose details were printed as results.
type errPrinted struct{ error }

func (e errPrinted) Unwrap() error { return e.error }

func wasPrinted(err error) bool {
	var e errPrinted
	return errors.As(err, &e)
}

// someFailed returns the error of a command that printed each failure as a result. code
// is the first failure's.
func someFailed(code fault.Code, failed, all int, what string) error {
	return errPrinted{fault.New(cmp.Or(code, fault.Failed), "%d of %d items %s", failed, all, what)}
}

// arg returns an optional argument, or "".
func (t *task) arg(i int) string {
	if i < len(t.args) {
		return t.args[i]
	}
	return ""
}

// path makes an argument absolute, relative to -C.
func (t *task) path(arg string) string { return t.env.Path(arg) }

// paths makes every one of args absolute.
func (t *task) paths(args []string) []string {
	all := make([]string, len(args))
	for i, arg := range args {
		all[i] = t.path(arg)
	}
	return all
}

// input opens standard input for -, or the file arg.
func (t *task) input(arg string) (io.ReadCloser, error) {
	if arg == "-" {
		return io.NopCloser(t.screen.In), nil
	}
	return os.Open(t.path(arg))
}

// refs returns the arguments as refs: "tool acme/hello", typed as two words, is one.
func (t *task) refs() []rye.Target {
	var out []rye.Target
	for i := 0; i < len(t.args); i++ {
		if _, err := objects.ParseKind(t.args[i]); err == nil && i+1 < len(t.args) {
			out = append(out, rye.Target(t.args[i]+":"+t.args[i+1]))
			i++
			continue
		}
		out = append(out, t.target(t.args[i]))
	}
	return out
}

// target makes a path absolute and leaves refs, names and patterns unchanged. No name begins with a
// dot, so such an argument is a path, even when its file is gone.
func (t *task) target(arg string) rye.Target {
	if !isName(arg) && !strings.ContainsAny(arg, "*?:") && strings.ContainsAny(arg, `./\`) {
		if _, err := os.Stat(t.path(arg)); err == nil || strings.HasPrefix(arg, ".") {
			return rye.Target(t.path(arg))
		}
	}
	return rye.Target(arg)
}

// oneRef is refs for commands that take one.
func (t *task) oneRef() (rye.Ref, error) {
	refs := t.refs()
	if len(refs) != 1 {
		return rye.Ref{}, fault.New(fault.Usage, "%s: want one ref, got %d", subject(t.name), len(refs)).Advise("%s <ref>", t.name)
	}
	return t.w.Ref(t.ctx, t.env.Caller, string(refs[0]))
}

// someRefs is refs for commands that need --all to use every item.
func (t *task) someRefs(all bool) ([]rye.Target, error) {
	if len(t.args) == 0 && !all {
		return nil, fault.New(fault.Usage, "%s: no items named", subject(t.name)).Advise("%[1]s --all, or %[1]s <ref>", t.name)
	}
	return t.refs(), nil
}

// afterwards returns a context for cleaning up after ctx was cancelled.
func afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
}
