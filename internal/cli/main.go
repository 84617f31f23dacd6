package cli

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/app"
	"github.com/rye-os/rye/workspace"
)

// Parts are the parts that only rye-engine has. The front, which starts faster, passes commands
// that need them to the engine.
type Parts struct {
	Threads func(*app.App) (rye.Threads, error)
	Words   func(*app.App) workspace.Index
	Turns   func(*app.App) app.TurnsOf

	Historian workspace.Historian

	Seal func(text, recipient []byte) ([]byte, error) // encrypts to another key
	Open func(file, identity []byte, ask func() ([]byte, error)) ([]byte, error)
}

// Main runs the command line argv (with the program's name first) in this
// process and returns the exit status.
func Main(argv []string, parts Parts) int {
	if exit, mine := app.Inside(argv); mine {
		return exit
	}
	ctx, stop := app.Context()
	defer stop()
	return run(ctx, argv[1:], app.NewScreen(os.Stdin, os.Stdout, os.Stderr), parts)
}

func run(ctx context.Context, args []string, s *app.Screen, parts Parts) (exit int) {
	var g app.Flags
	args, remark := today(globalFlags(&g), args)
	inv, err := arrange(commandsFor(args), globalFlags(&g), args)
	if err != nil || inv.help {
		inv, err = arrange(commands(), globalFlags(&g), args) // the whole tree is needed for suggestions
	}
	g.Argv = args
	g.JSON = g.JSON || (err != nil && inv.json) // errors in the arguments themselves are JSON, too
	out := newPrinter(s, g)
	defer func() {
		if r := recover(); r != nil {
			exit = out.report(crash(r))
		}
	}()
	if remark != "" && !g.JSON {
		out.infof("rye: %s", remark)
	}
	if err != nil {
		return out.report(err)
	}
	t := &task{ctx: ctx, flags: &g, screen: s, out: out, exit: -1, argv: args, parts: parts}
	switch {
	case inv.help:
		err = t.printHelp(inv.path)
	default:
		err = t.dispatch(inv)
	}
	if ferr := out.flush(); err == nil && ferr != nil {
		err = fault.New(fault.Failed, "write to standard output: %w", ferr)
	}
	if code := out.report(err); code != 0 || t.exit < 0 {
		return code
	}
	return t.exit
}

// crash turns a panic into an error with a code: the runtime's own status for a panic
// is 2, which means wrong usage here.
func crash(r any) error {
	fmt.Fprintf(os.Stderr, "%s\n", debug.Stack())
	return fault.New(fault.Failed, "this is a bug in rye: %v", r).Advise("report it with the lines above and the output of: rye version --json")
}

// dispatch lets urfave/cli parse the arranged arguments of one command. It passes only the
// path to that command and the given flags, because building the rest would slow every
// start.
func (t *task) dispatch(inv invocation) error {
	a := &cli.App{
		Name:                      "rye",
		HideHelp:                  true,
		HideVersion:               true,
		DisableSliceFlagSeparator: true,
		Writer:                    t.screen.Err(), // it prints only mistakes
		ErrWriter:                 t.screen.Err(),
		ExitErrHandler:            func(*cli.Context, error) {},
		Action:                    func(*cli.Context) error { return t.printHelp(nil) },
	}
	into := &a.Commands
	for i, s := range inv.path {
		c := s.command(t, inv.path[:i+1])
		if i == len(inv.path)-1 {
			c.Flags = inv.given
		}
		*into = []*cli.Command{c}
		into = &c.Subcommands
	}
	return a.RunContext(t.ctx, append([]string{"rye"}, inv.argv...))
}

// globalFlags returns the flags that every command accepts, before or after its name.
func globalFlags(g *app.Flags) []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "json", Destination: &g.JSON, Usage: "print one JSON object per line; errors too, on standard error"},
		&cli.StringFlag{Name: "directory", Aliases: []string{"C"}, Destination: &g.Dir, DefaultText: "dir", Usage: "run as if started in `dir`"},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Destination: &g.Quiet, Usage: "print only answers, refusals and errors"},
		&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Destination: &g.Yes, Usage: "answer yes to questions that have no flag of their own"},
		repeated("accept-owner", &g.AcceptOwner, "let a registry's keys own this `namespace`, instead of asking; repeatable"),
		&cli.BoolFlag{Name: "offline", Destination: &g.Offline, Usage: "never touch the network"},
		&cli.BoolFlag{Name: "no-color", Destination: &g.NoColor, Usage: "no colour (NO_COLOR does the same)"},
		&cli.BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "show help"},
	}
}

// has reports whether name is one of names.
func has(names []string, name string) bool { return slices.Contains(names, name) }
