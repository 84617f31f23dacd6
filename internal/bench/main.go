// Command bench measures the built programs beside their peers and prints a table:
// ours, the peer, and the ratio. Ours and the peer's runs alternate, so that what
// disturbs the machine disturbs both; the figures are medians of wall time, of
// whole processes unless the row says otherwise. Only ratios of one run mean
// anything: a quiet machine and a busy one give different milliseconds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

func main() {
	bin := flag.String("bin", "bin", "directory of the built programs")
	runs := flag.Int("runs", 31, "runs of each side of a row; a tenth for rows of thousands of items")
	only := flag.String("only", "", "rows whose name matches this expression")
	items := flag.Int("items", 10000, "items in the large project")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *bin, *only, *runs, *items); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bin, only string, runs, items int) (err error) {
	pick, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	b, err := newBench(ctx, bin)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	fmt.Printf("rye %s, %s, %s/%s, %d processors, %s\n", first(b.output("rye", "version")), first(b.output("git", "--version")),
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	fmt.Printf("\n%-44s %12s %12s %8s  %s\n", "what", "ours", "peer", "ratio", "peer is")
	for _, r := range rows(items) {
		if !pick.MatchString(r.what) {
			continue
		}
		n := runs
		if r.heavy {
			n = max(3, runs/10)
		}
		if err := b.row(r, n); err != nil {
			return fmt.Errorf("%s: %w", r.what, err)
		}
	}
	return b.residents()
}

// residents prints how much memory rye had at most. The system counts a new
// process from what its parent had, so no figure is below this program's own.
func (b *bench) residents() error {
	dir, err := b.project(100)
	if err != nil {
		return err
	}
	fmt.Printf("\nresident, at most:")
	for _, args := range [][]string{{"rye", "version"}, {"rye", "load", "knowledge:" + entry(1)}} {
		cmd := b.command(dir, args...)
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(args, " "), err)
		}
		fmt.Printf("  %s %.1f MB", strings.Join(args[:2], " "), float64(resident(cmd))/1e6)
	}
	fmt.Println()
	return nil
}

// A row is one line of the table. Both sides are prepared once and then run in turn.
type row struct {
	what  string
	peer  string // how the peer is called in the table
	heavy bool
	setup func(*bench) (ours, theirs func() (time.Duration, error), err error)
}

// A bench is a temporary home with programs to measure in it.
type bench struct {
	ctx      context.Context
	dir      string
	bin      string
	projects map[int]string // by number of items
	ends     []func() error // of what was started and still runs
}

// close ends what runs and removes what was made.
func (b *bench) close() error {
	var errs []error
	for _, end := range b.ends {
		errs = append(errs, end())
	}
	return errors.Join(append(errs, os.RemoveAll(b.dir))...)
}

func newBench(ctx context.Context, bin string) (*bench, error) {
	abs, err := filepath.Abs(bin)
	if err != nil {
		return nil, err
	}
	for _, p := range []string{filepath.Join(abs, "rye"), "git", "bash"} {
		if _, err := exec.LookPath(p); err != nil {
			return nil, fmt.Errorf("%w (make build; git and bash are the peers)", err)
		}
	}
	dir, err := os.MkdirTemp("", "rye-bench-")
	return &bench{ctx: ctx, dir: dir, bin: abs, projects: make(map[int]string)}, err
}

func (b *bench) row(r row, n int) error {
	ours, theirs, err := r.setup(b)
	if err != nil {
		return err
	}
	if err := discard(ours, theirs); err != nil { // warms the page cache for both
		return err
	}
	var us, them []time.Duration
	for i := range n {
		sides := []func() (time.Duration, error){ours, theirs}
		into := []*[]time.Duration{&us, &them}
		for j := range sides {
			k := (i + j) % 2
			d, err := sides[k]()
			if err != nil {
				return err
			}
			*into[k] = append(*into[k], d)
		}
	}
	o, p := median(us), median(them)
	fmt.Printf("%-44s %12s %12s %8.2f  %s\n", r.what, ms(o), ms(p), float64(o)/float64(p), r.peer)
	return nil
}

func discard(sides ...func() (time.Duration, error)) error {
	for _, side := range sides {
		if _, err := side(); err != nil {
			return err
		}
	}
	return nil
}

// command prepares a program in dir with a home of its own.
func (b *bench) command(dir string, args ...string) *exec.Cmd {
	path := args[0]
	if path == "rye" {
		path = filepath.Join(b.bin, "rye")
	}
	cmd := exec.CommandContext(b.ctx, path, args[1:]...)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + b.dir, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=bench", "GIT_AUTHOR_EMAIL=bench@localhost", "GIT_COMMITTER_NAME=bench", "GIT_COMMITTER_EMAIL=bench@localhost"}
	return cmd
}

// process returns a side of a row: one run of a program, checked.
func (b *bench) process(dir string, args ...string) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		cmd := b.command(dir, args...)
		start := time.Now()
		out, err := cmd.CombinedOutput()
		took := time.Since(start)
		if err != nil {
			err = fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, clip(out))
		}
		return took, err
	}
}

// do runs a program that is not measured.
func (b *bench) do(dir string, args ...string) error {
	_, err := b.process(dir, args...)()
	return err
}

func (b *bench) output(args ...string) string {
	out, err := b.command(b.dir, args...).Output()
	if err != nil {
		return args[0] + " (" + err.Error() + ")"
	}
	return string(out)
}
