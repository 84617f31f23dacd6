// Command bench measures the built programs beside their peers and prints a table: ours,
// the peer, the ratio, and the goal. Ours and the peer's runs alternate, so that a disturbance of
// the machine reaches both; the figures are medians, of whole processes unless the row
// says otherwise. Only ratios of one run mean anything: a quiet machine and a busy one
// give different milliseconds, and on a busy one the time of the processors says more than
// the clock. A disk has a memory, too: ext4 walks over files removed in the last minutes
// before it makes a file, 1.5 ms each after two runs of 10,000 items. A host makes
// seventeen files for a publication and git's push four. Wait, or give TMPDIR another file
// system.
//
// Rows of several sizes tell how they grow: the exponent x of time ~ items^x that
// fits their medians best.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	if len(os.Args) > 3 && os.Args[1] == weighing {
		os.Exit(weigh(os.Args[2], os.Args[3:]))
	}
	bin := flag.String("bin", "bin", "directory of the built programs")
	runs := flag.Int("runs", 31, "runs of each side of a row; fewer for rows of thousands of items")
	only := flag.String("only", "", "rows whose name matches this expression")
	sizes := flag.String("sizes", "100,1000,10000", "numbers of items in a project")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *bin, *only, *sizes, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bin, only, sizes string, runs int) (err error) {
	pick, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	var ns []int
	for _, s := range strings.Split(sizes, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 100 || n > 100000 {
			return fmt.Errorf("-sizes %q: want numbers from 100 to 100000", sizes)
		}
		ns = append(ns, n)
	}
	b, err := newBench(ctx, bin)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	fmt.Printf("rye %s, %s, %s/%s, %d processors, %s\n", first(b.output("rye", "version")), first(b.output("git", "--version")),
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	if err := b.residents(); err != nil { // first, while this program is small
		return err
	}
	fmt.Printf("\n%-48s %29s   %29s\n", "", "------- time of the clock", "------ time of processors")
	fmt.Printf("%-48s %10s %10s %7s   %10s %10s %7s  %-14s %s\n", "what", "ours", "peer", "ratio", "ours", "peer", "ratio", "goal", "peer is")
	err = table{b, pick, runs}.print(rows(ns))
	if pick.MatchString(bashTool) {
		err = errors.Join(err, b.shares(runs))
	}
	return err
}

// table selects the rows to measure, and how often.
type table struct {
	b    *bench
	pick *regexp.Regexp
	runs int
}

// print measures the picked rows and prints them, and how they grow. A row that fails is named
// in its place and in the error, and the others continue.
func (t table) print(all []row) error {
	var grown growth
	var failed []string
	for _, r := range all {
		if !t.pick.MatchString(r.title()) {
			continue
		}
		if err := t.b.ctx.Err(); err != nil { // the remaining rows would fail
			return err
		}
		us, them, err := t.b.row(r, r.runs(t.runs))
		if err != nil {
			fmt.Printf("%-48s failed: %v\n", r.title(), err)
			failed = append(failed, r.title()+" (beside "+r.peer+")")
			continue
		}
		grown.add(r, us, them)
	}
	grown.print()
	if len(failed) > 0 {
		return fmt.Errorf("%d rows failed:\n  %s", len(failed), strings.Join(failed, "\n  "))
	}
	return nil
}

// residents prints the peak memory of rye. The system counts a new process from its
// parent's memory, so no figure is below this program's own. Therefore residents runs
// before this program has grown.
func (b *bench) residents() error {
	dir, err := b.project(100)
	if err != nil {
		return err
	}
	fmt.Printf("resident, at most:")
	for _, args := range [][]string{{"rye", "version"}, {"rye", "load", "knowledge:" + entry(1)}} {
		cmd := b.command(dir, args...)
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(args, " "), err)
		}
		fmt.Printf("  %s %.1f MB", strings.Join(args[:2], " "), mb(resident(cmd)))
	}
	fmt.Println()
	return nil
}

// A cost is the cost of one run.
type cost struct {
	wall, cpu time.Duration
	resident  int64 // bytes, of its largest process; 0 when not weighed
}

// A side of a row runs once and returns the cost.
type side func() (cost, error)

// A row is one line of the table. Both sides are prepared once and then run in turn.
type row struct {
	what  string
	n     int    // number of items; 0 when it does not matter
	peer  string // the peer's name in the table
	heavy bool   // takes seconds when n is large
	light bool   // takes milliseconds for any n
	setup func(b *bench, n int) (ours, theirs side, err error)
}

func (r row) title() string {
	if r.n == 0 {
		return r.what
	}
	return fmt.Sprintf("%s, %d", r.what, r.n)
}

// runs returns how often each side runs, so that the whole table takes minutes.
func (r row) runs(most int) int {
	switch {
	case r.light:
	case r.heavy && r.n > 1000, r.n > 10000:
		return max(3, most/10)
	case r.n > 1000:
		return max(3, most/2)
	}
	return most
}

// A bench is a temporary home with programs to measure in it.
type bench struct {
	ctx      context.Context
	dir      string
	bin      string
	projects map[int]string // by number of items
	ends     []func() error // end the programs that still run
	undo     []func() error // undo the row's changes to data that others measure, too
}

// close ends the running programs, the last one first, and removes the files.
func (b *bench) close() error {
	var errs []error
	for _, end := range slices.Backward(b.ends) {
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
	if err != nil {
		return nil, err
	}
	b := &bench{ctx: ctx, dir: dir, bin: filepath.Join(dir, "bin"), projects: make(map[int]string)}
	return b, b.install(abs)
}

// install copies the programs, like an installation. A file fresh from the linker was written
// page by page, and is mapped page by page, too. That costs half a millisecond of each start,
// which the installed git does not have.
func (b *bench) install(from string) error {
	if err := os.Mkdir(b.bin, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"rye", "rye-cage", "rye-engine"} {
		if err := copyProgram(filepath.Join(b.bin, name), filepath.Join(from, name)); err != nil {
			return err
		}
	}
	return nil
}

func copyProgram(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func (b *bench) row(r row, n int) (ours, theirs cost, err error) {
	b.undo = nil
	defer func() {
		for _, undo := range b.undo {
			err = errors.Join(err, undo())
		}
	}()
	a, z, err := r.setup(b, r.n)
	if err != nil {
		return cost{}, cost{}, err
	}
	_ = exec.CommandContext(b.ctx, "sync").Run() // so that all preparations are on disk; the program may be missing
	sides, took := [2]side{a, z}, [2][]cost{}
	for i := range n + 1 { // the first run of each warms the page cache
		for j := range sides {
			k := (i + j) % 2
			c, err := sides[k]()
			if err != nil {
				return cost{}, cost{}, err
			}
			if i > 0 {
				took[k] = append(took[k], c)
			}
		}
	}
	ours, theirs = median(took[0]), median(took[1])
	fmt.Printf("%-48s %10s %10s %7s   %10s %10s %7s  %-14s %s\n", r.title(), ms(ours.wall), ms(theirs.wall), ratio(ours.wall, theirs.wall),
		ms(ours.cpu), ms(theirs.cpu), ratio(ours.cpu, theirs.cpu), r.goal(), r.peer)
	if ours.resident > 0 && theirs.resident > 0 {
		fmt.Printf("%-48s %7.1f MB %7.1f MB %7.2f\n", "  its largest process", mb(ours.resident), mb(theirs.resident), float64(ours.resident)/float64(theirs.resident))
	}
	return ours, theirs, nil
}

func mb(n int64) float64 { return float64(n) / 1e6 }

// command prepares a program in dir, with the home of the bench.
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
func (b *bench) process(dir string, args ...string) side {
	return func() (cost, error) { return b.timed(b.command(dir, args...)) }
}

// timed runs a prepared command.
func (b *bench) timed(cmd *exec.Cmd) (cost, error) {
	start := time.Now()
	out, err := cmd.CombinedOutput()
	c := cost{wall: time.Since(start)}
	if err != nil {
		return c, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, clip(out))
	}
	c.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return c, nil
}

// inside returns a side that runs in this process.
func inside(do func() error) side {
	return func() (cost, error) {
		start, busy := time.Now(), processorTime()
		err := do()
		return cost{wall: time.Since(start), cpu: processorTime() - busy}, err
	}
}

// do runs a program without measuring it.
func (b *bench) do(dir string, args ...string) error {
	_, err := b.process(dir, args...)()
	return err
}

// store returns the git repository of a project's record.
func (b *bench) store(dir string) string {
	out, err := b.command(dir, "rye", "where", "record").Output()
	if err != nil {
		panic(err) // a benchmark without the programs that it measures
	}
	return strings.TrimSpace(string(out))
}

func (b *bench) output(args ...string) string {
	out, err := b.command(b.dir, args...).Output()
	if err != nil {
		return args[0] + " (" + err.Error() + ")"
	}
	return string(out)
}
