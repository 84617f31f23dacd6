package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/build"
	"github.com/rye-os/rye/internal/words"
)

// Face is one of the programs that the engine contains.
type Face func(context.Context, *App) error

// EngineMain runs the engine: rye-engine --for <build id> <face> [--dir d] [--offline].
// The front composes these arguments; people type only --build-id. With
// --for <build id> command <arguments> it runs a command line of the front instead. It
// returns the exit status.
func EngineMain(argv []string, faces map[string]Face, command func(argv []string) int) int {
	if exit, mine := Inside(argv); mine {
		return exit
	}
	if len(argv) == 2 && argv[1] == "--build-id" {
		fmt.Println(build.This().ID)
		return 0
	}
	if len(argv) > 3 && argv[1] == "--for" && argv[3] == CommandFace && build.Check(engineName, argv[2]) == nil {
		return command(append([]string{frontName}, argv[4:]...))
	}
	ctx, stop := ServerContext()
	defer stop()
	err := engine(ctx, argv[1:], faces)
	if err == nil {
		return 0
	}
	if errors.Is(err, context.Canceled) {
		return fault.Interrupt.Exit()
	}
	screen := NewScreen(os.Stdin, os.Stdout, os.Stderr)
	for _, line := range words.Lines(err) {
		screen.Say(fault.ErrorLine+"\n", line)
	}
	if h := fault.HintOf(err); !h.IsZero() {
		screen.Say(fault.HintLine+"\n", h.String())
	}
	return fault.Exit(err)
}

func engine(ctx context.Context, args []string, faces map[string]Face) error {
	if len(args) < 3 || args[0] != "--for" {
		return fault.New(fault.Usage, "rye-engine is started by rye").Mend("rye mcp")
	}
	if err := build.Check(engineName, args[1]); err != nil {
		return err
	}
	face, ok := faces[args[2]]
	if !ok {
		return fault.New(fault.Usage, "rye-engine has no mode %q", args[2])
	}
	var f Flags
	fs := flag.NewFlagSet("rye-engine", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&f.Dir, "dir", "", "")
	fs.BoolVar(&f.Offline, "offline", false, "")
	fs.Func("project", "", func(dir string) error { f.Projects = append(f.Projects, dir); return nil })
	reachFlags(fs, &f.Reach)
	if err := fs.Parse(args[3:]); err != nil {
		return fault.New(fault.Usage, "rye-engine: %w", err)
	}
	a, err := New(ctx, f, NewScreen(os.Stdin, os.Stdout, os.Stderr))
	if err != nil {
		return err
	}
	return face(ctx, a)
}

// reachFlags defines the flags of a server over HTTP, as the front passes them.
func reachFlags(fs *flag.FlagSet, l *Reach) {
	fs.StringVar(&l.Addr, "http", "", "")
	fs.StringVar(&l.Cert, "tls-cert", "", "")
	fs.StringVar(&l.Key, "tls-key", "", "")
	fs.BoolVar(&l.Proxied, "behind-proxy", false, "")
	fs.Func("host", "", func(name string) error { l.Hosts = append(l.Hosts, name); return nil })
	fs.Func("origin", "", func(origin string) error { l.Origins = append(l.Origins, origin); return nil })
}
