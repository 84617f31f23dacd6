// Command mutants breaks the program on purpose, in one place after the other, and checks
// whether the test that should notice does.
//
// Each file of internal/tools/mutants/list holds mutants of one subject: a piece of a
// source file, the text in its place, and the test that must turn red (see parse for the
// form). Each patch of internal/tools/mutants/blind is a mutant, too, that was written
// without a look at the tests: any test of the packages that its tests.txt names may
// notice it. No source is touched: the go command reads the broken file in place of the
// real one, by an overlay. Run it from the module's root, by `make mutants`.
//
// It ends with status 1 when a mutant survives, when one does not compile, and when the text
// of one is not in its file exactly once: then the source moved on, and the list must follow.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var (
		list   = flag.String("list", "internal/tools/mutants/list", "directory of the mutants")
		blind  = flag.String("blind", "internal/tools/mutants/blind", "directory of the patches; empty for none")
		only   = flag.String("run", "", "only mutants whose name matches this expression")
		jobs   = flag.Int("j", runtime.NumCPU(), "how many at once")
		within = flag.Duration("within", 90*time.Minute, "give up after this long")
		tell   = flag.Bool("v", false, "show what the tests of a mutant that did not die printed")
	)
	flag.Parse()
	ctx, cancel := context.WithTimeoutCause(ctx, *within, fmt.Errorf("not done within %v", *within))
	defer cancel()
	if err := run(ctx, os.Stdout, from{*list, *blind}, *only, bench{root: ".", jobs: *jobs, tell: *tell}); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// from holds the directories with mutants; blind may be empty.
type from struct{ list, blind string }

// read reads all mutants.
func (f from) read() ([]mutant, error) {
	all, err := read(os.DirFS(f.list))
	if err != nil || f.blind == "" {
		return all, err
	}
	patches, err := readBlind(os.DirFS(f.blind))
	return append(all, patches...), err
}

// run tries mutants and prints a line for each, and how many died. If not all died, it
// returns an error.
func run(ctx context.Context, out io.Writer, dirs from, only string, b bench) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	all, err := dirs.read()
	if err != nil {
		return err
	}
	chosen := all[:0:0]
	for _, m := range all {
		if pattern.MatchString(m.name) && (m.on == "" || m.on == runtime.GOOS) {
			chosen = append(chosen, m)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no mutant matches %q", only)
	}
	began, died := time.Now(), 0
	for r := range b.try(ctx, chosen) {
		if r.verdict == dead {
			died++
		}
		fmt.Fprintln(out, r.line(b.tell))
	}
	fmt.Fprintf(out, "%d mutants, %d died, %v\n", len(chosen), died, time.Since(began).Round(time.Second))
	if died < len(chosen) {
		return fmt.Errorf("%d of %d did not die", len(chosen)-died, len(chosen))
	}
	return context.Cause(ctx)
}
