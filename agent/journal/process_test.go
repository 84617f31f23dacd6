package journal_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/agent/journal"
)

// TestMain lets the test binary be one of its own child processes.
func TestMain(m *testing.M) {
	if job := os.Getenv("RYE_TEST_CHILD"); job != "" {
		if err := jobs[job](os.Getenv("RYE_TEST_DIR")); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var jobs = map[string]func(dir string) error{
	"append": childAppends,
	"hold":   childHolds,
	"follow": childFollows,
	"pace":   childPaces,
}

// child is a process of a test. What it says comes line by line; it ends when the test does.
type child struct {
	tb  testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startChild(tb testing.TB, job, dir string) *child {
	tb.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "RYE_TEST_CHILD="+job, "RYE_TEST_DIR="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(tb, err)
	out, err := cmd.StdoutPipe()
	must(tb, err)
	must(tb, cmd.Start())
	c := &child{tb, cmd, in, bufio.NewReader(out)}
	tb.Cleanup(c.kill)
	return c
}

// kill ends the process at once, and waits for its end.
func (c *child) kill() {
	c.cmd.Process.Kill()
	io.Copy(io.Discard, c.out)
	c.cmd.Wait()
}

// line returns the next line of what it says; "" at the end.
func (c *child) line() string {
	text, err := c.out.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		c.tb.Fatal(err)
	}
	return strings.TrimSuffix(text, "\n")
}

// childAppends appends for as long as it lives, and says what is on the disk.
func childAppends(dir string) error {
	l, err := journal.Take(dir, time.Now())
	if err != nil {
		return err
	}
	j, err := l.Open(context.Background(), journal.Options{})
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		text := fmt.Sprint(j.Chain().Seq+1, strings.Repeat("x", i%5*300))
		r, err := j.Append(warn(text), i%3 == 2)
		if err != nil {
			return err
		}
		j.Live(delta("live"))
		if i%3 == 2 {
			fmt.Println("ack", r.Seq)
		}
	}
}

// childHolds holds the lease until its input ends.
func childHolds(dir string) error {
	l, err := journal.Take(dir, time.Now())
	if err != nil {
		fmt.Println(err)
		return nil
	}
	fmt.Println("held", l.Epoch())
	io.Copy(io.Discard, os.Stdin)
	return nil
}

// childFollows says what it sees.
func childFollows(dir string) error {
	end, err := journal.Follow(context.Background(), dir, journal.FollowOptions{Live: true, Wait: true}, func(r journal.Record) error {
		fmt.Println(r.Seq, r.Live, text(r))
		return nil
	})
	fmt.Println("end", end.State, end.Final, end.Last.Seq, err)
	return nil
}

// childPaces appends one record, with the time, for each line of its input.
func childPaces(dir string) error {
	l, err := journal.Take(dir, time.Now())
	if err != nil {
		return err
	}
	j, err := l.Create()
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		r := warn(in.Text())
		r.Time = time.Now()
		if _, err := j.Append(r, false); err != nil {
			return err
		}
	}
	return nil
}

// TestKilledWriter kills a process that appends at random points, again and again: every
// record that it said was on the disk is there, and all fit together. RYE_SOAK=1 kills 300.
func TestKilledWriter(t *testing.T) {
	rounds := 6
	if soak() {
		rounds = 300
	}
	dir := newDir(t)
	l, j := create(t, dir)
	must(t, j.Close())
	must(t, l.Release())
	var last int64
	for range rounds {
		c := startChild(t, "append", dir)
		for range 1 + rand.IntN(60) {
			line := c.line()
			if _, err := fmt.Sscanf(line, "ack %d", &last); err != nil {
				t.Fatalf("the child says %q", line)
			}
		}
		c.cmd.Process.Kill() // it goes on until it dies
		for line := c.line(); line != ""; line = c.line() {
			fmt.Sscanf(line, "ack %d", &last)
		}
		c.kill()
		var seen int64
		l, err := journal.Take(dir, time.Now())
		must(t, err)
		j, err := l.Open(context.Background(), journal.Options{Visit: func(r journal.Record) error {
			if seen++; r.Seq != seen || r.Type == "warning" && !strings.HasPrefix(text(r), fmt.Sprint(seen)) {
				t.Errorf("record %d stands in the place of %d", r.Seq, seen)
			}
			return nil
		}})
		must(t, err)
		if seen < last {
			t.Fatalf("%d records, %d were on the disk", seen, last)
		}
		must(t, j.Close())
		must(t, l.Release())
	}
	t.Logf("%d deaths, %d records", rounds, last)
}

func TestLease(t *testing.T) {
	dir := newDir(t)
	alive := func(want bool) {
		t.Helper()
		got, h, err := journal.Alive(dir)
		if err != nil || got != want || want && h.PID == 0 {
			t.Fatalf("alive %v, %+v, %v, want %v", got, h, err, want)
		}
	}
	alive(false)
	must(t, journal.Wait(context.Background(), dir))
	c := startChild(t, "hold", dir)
	same(t, "the first", c.line(), "held 1")
	alive(true)
	var held *journal.Held
	if _, err := journal.Take(dir, start); !errors.As(err, &held) || held.Holder.PID != c.cmd.Process.Pid || held.Holder.Epoch != 1 {
		t.Fatalf("a second holder: %v", err)
	}
	same(t, "the second", startChild(t, "hold", dir).line(), held.Error())
	done := make(chan error)
	for range 4 {
		go func() { done <- journal.Wait(context.Background(), dir) }()
	}
	c.cmd.Process.Kill()
	for range 4 {
		must(t, <-done)
	}
	alive(false)
	l := take(t, dir)
	same(t, "epoch", l.Epoch(), 2)
	alive(true)
	if _, err := journal.Take(dir, start); !errors.As(err, &held) || held.Holder.PID != os.Getpid() {
		t.Errorf("the same process: %v", err)
	}
	must(t, l.Release())
	alive(false)
}

// TestManyWantTheLease: of processes that want it at the same moment, while others look and
// wait, one has it, and none is told of a holder that was not there.
func TestManyWantTheLease(t *testing.T) {
	dir := newDir(t)
	stop, looked := make(chan struct{}), make(chan struct{})
	for range 3 {
		go func() {
			defer func() { looked <- struct{}{} }()
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, _, err := journal.Alive(dir); err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	for i := range 60 { // alone but for those who look
		l, err := journal.Take(dir, start)
		if err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		same(t, "epoch", l.Epoch(), i+1)
		must(t, l.Release())
	}
	close(stop)
	for range 3 {
		<-looked
	}
	var children []*child
	for range 4 {
		children = append(children, startChild(t, "hold", dir))
	}
	var got []string
	for _, c := range children {
		got = append(got, strings.Fields(c.line())[0])
	}
	slices.Sort(got)
	same(t, "answers", got, "[held the the the]")
}

// TestDamagedLease: the epoch never goes back, whatever the file holds.
func TestDamagedLease(t *testing.T) {
	dir := newDir(t)
	file := dir + "/lease"
	for i := range 3 {
		l := take(t, dir)
		same(t, "epoch", l.Epoch(), i+1)
		must(t, l.Release())
	}
	raw, err := os.ReadFile(file)
	must(t, err)
	for i := 512; i < 1024; i += 7 { // in the slot of epoch 3
		bad := slices.Clone(raw)
		bad[i] ^= 1
		must(t, os.WriteFile(file, bad, 0o600))
		l := take(t, dir)
		same(t, "epoch after a torn write", l.Epoch(), 3)
		must(t, l.Release())
	}
	must(t, os.WriteFile(file, []byte("rubbish"), 0o600))
	l := take(t, dir)
	same(t, "epoch after rubbish", l.Epoch(), start.UnixMilli()+1)
	must(t, l.Release())
}

// follow collects what a follower in this process sees until it ends.
func follow(t *testing.T, ctx context.Context, dir string, o journal.FollowOptions) (all []string, end journal.Ending, err error) {
	t.Helper()
	end, err = journal.Follow(ctx, dir, o, func(r journal.Record) error {
		all = append(all, fmt.Sprint(r.Seq, r.Live, " ", text(r)))
		return nil
	})
	return all, end, err
}

// TestFollowAnother: a process sees what this one writes, all of it, in order, to the end.
func TestFollowAnother(t *testing.T) {
	dir := newDir(t)
	l, j := create(t, dir)
	j.Live(delta("before"))
	add(t, j, warn("r1"), true)
	c := startChild(t, "follow", dir)
	same(t, "first", c.line(), "0 true before")
	same(t, "second", c.line(), "1 false r1")
	want := []string{}
	for i := 2; i < 400; i++ {
		j.Live(delta("a"))
		j.Live(delta("b"))
		add(t, j, warn(fmt.Sprint("r", i)), i%50 == 0)
		want = append(want, fmt.Sprint(i-1, " true a"), fmt.Sprint(i-1, " true b"), fmt.Sprint(i, " false r", i))
		if i == 100 {
			same(t, "live", c.line(), want[0]) // it is at it now
			want = want[1:]
		}
	}
	add(t, j, completed, true)
	want = append(want, "400 false thread_completed", "end ended thread_completed 400 <nil>")
	for i, w := range want {
		if got := c.line(); got != w {
			t.Fatalf("line %d: got %q, want %q", i, got, w)
		}
	}
	must(t, l.Release())
}

func TestFollowEnds(t *testing.T) {
	ctx := context.Background()
	dir := newDir(t)
	_, end, err := follow(t, ctx, dir, journal.FollowOptions{Wait: true})
	same(t, "before it began", fmt.Sprint(end.State, err), "interrupted<nil>")
	l, j := create(t, dir)
	add(t, j, warn("a"), false)
	j.Live(delta("x"))
	add(t, j, warn("b"), false)
	all, end, err := follow(t, ctx, dir, journal.FollowOptions{From: 2, Live: true})
	same(t, "while it runs", fmt.Sprintln(all, end.State, end.Last.Seq, err), "[2 false b] running 2 <nil>\n")
	all, _, _ = follow(t, ctx, dir, journal.FollowOptions{From: 1, Live: true})
	same(t, "with droppable records", all, "[1 false a 1 true x 2 false b]")
	cancelled, cancel := context.WithCancelCause(ctx)
	cancel(errStop)
	if _, _, err := follow(t, cancelled, dir, journal.FollowOptions{Wait: true}); !errors.Is(err, errStop) {
		t.Errorf("cancelled: %v", err)
	}
	n := 0
	_, err = journal.Follow(ctx, dir, journal.FollowOptions{Wait: true}, func(journal.Record) error { n++; return errStop })
	if !errors.Is(err, errStop) || n != 1 {
		t.Errorf("an error of visit: %v after %d", err, n)
	}
	add(t, j, journal.Record{Time: start, Type: journal.Suspended, Data: []byte(`{"suspend_reason":"limit"}`)}, false)
	must(t, j.Close())
	must(t, l.Release())
	_, end, _ = follow(t, ctx, dir, journal.FollowOptions{Wait: true})
	same(t, "suspended", end.State, "suspended")
	l = take(t, dir)
	j = reopen(t, l, journal.Options{})
	add(t, j, journal.Record{Time: start, Type: "thread_resumed", Data: []byte(`{"epoch":2}`)}, false)
	must(t, j.Close())
	must(t, l.Release())
	_, end, _ = follow(t, ctx, dir, journal.FollowOptions{Wait: true})
	same(t, "died after it was resumed", end.State, "interrupted")
}

// TestFollowDeath: who follows a process that dies is told, after all that it wrote.
func TestFollowDeath(t *testing.T) {
	dir := newDir(t)
	l, j := create(t, dir)
	must(t, j.Close())
	must(t, l.Release())
	c := startChild(t, "append", dir)
	same(t, "the child", c.line(), "ack 3")
	var last, n int64
	end, err := journal.Follow(context.Background(), dir, journal.FollowOptions{Wait: true}, func(r journal.Record) error {
		if last, n = r.Seq, n+1; n == 10 {
			c.cmd.Process.Kill()
		}
		return nil
	})
	if err != nil || end.State != journal.StateInterrupted || n != last || last < 10 || end.Last.Seq != last {
		t.Errorf("%+v, %v after %d records, the last %d", end, err, n, last)
	}
}
