package journal_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/fault"
)

func init() { jobs["full"] = childFills }

// childFills appends until the disk is full, makes room, and appends again.
func childFills(dir string) error {
	signal.Ignore(syscall.SIGXFSZ)
	if err := setFileSize(64 << 10); err != nil {
		return err
	}
	l, err := journal.Take(dir, time.Now())
	if err != nil {
		return err
	}
	j, err := l.Create()
	if err != nil {
		return err
	}
	for err == nil {
		_, err = j.Append(warn(strings.Repeat("x", 1000)), true)
	}
	seq, digest := j.Chain().Seq, j.Digest()
	st, serr := os.Stat(filepath.Join(dir, "journal.jsonl"))
	if serr != nil {
		return serr
	}
	fmt.Println(errors.Is(err, syscall.EFBIG), seq > 10, st.Size() < 64<<10)
	if _, err := j.Append(warn(strings.Repeat("x", 1000)), true); err == nil || j.Digest() != digest {
		return fmt.Errorf("a second try: %v", err)
	}
	if err := setFileSize(1 << 30); err != nil {
		return err
	}
	r, err := j.Append(warn("on"), true)
	fmt.Println(r.Seq == seq+1, err)
	return nil
}

func setFileSize(n uint64) error {
	return unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: n, Max: 1 << 30})
}

// TestDiskFull: a record that finds no room leaves nothing behind, and with room it goes on.
func TestDiskFull(t *testing.T) {
	dir := newDir(t)
	c := startChild(t, "full", dir)
	same(t, "full", c.line(), "true true true")
	same(t, "with room", c.line(), "true <nil>")
	same(t, "the end", c.line(), "")
	all := read(t, dir)
	same(t, "the last", all[len(all)-1], "on")
}

// TestDiskFullOnTmpfs is the same with a disk that is full, where one can be mounted.
func TestDiskFullOnTmpfs(t *testing.T) {
	up := t.TempDir()
	if err := unix.Mount("tmpfs", up, "tmpfs", 0, "size=256k,mode=700"); err != nil {
		t.Skipf("no tmpfs can be mounted: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(up, unix.MNT_DETACH) })
	dir := filepath.Join(up, thread)
	must(t, journal.Make(dir))
	l, j := create(t, dir)
	ballast := filepath.Join(up, "ballast")
	must(t, os.WriteFile(ballast, make([]byte, 100<<10), 0o600))
	var err error
	for err == nil {
		_, err = j.Append(warn(strings.Repeat("x", 3000)), true)
	}
	if !errors.Is(err, syscall.ENOSPC) || fault.HintOf(err).IsZero() {
		t.Fatalf("%v, hint %v", err, fault.HintOf(err))
	}
	j.Live(delta("dropped"))
	must(t, os.Remove(ballast))
	add(t, j, warn("on"), true)
	must(t, j.Close())
	seen := 0
	reopen(t, l, journal.Options{Visit: func(journal.Record) error { seen++; return nil }})
	same(t, "records", seen, len(read(t, dir)))
}

// TestWaitLeavesNothing: a wait that is cancelled leaves no thread, no goroutine and no file.
func TestWaitLeavesNothing(t *testing.T) {
	dir := newDir(t)
	take(t, dir)
	count := func() [3]int {
		return [3]int{runtime.NumGoroutine(), len(names(t, "/proc/self/task")), len(names(t, "/proc/self/fd"))}
	}
	wait := func() {
		ctx, cancel := context.WithCancelCause(context.Background())
		done := make(chan error)
		go func() { done <- journal.Wait(ctx, dir) }()
		asleep(t)
		cancel(errStop)
		if err := <-done; !errors.Is(err, errStop) {
			t.Fatalf("Wait = %v", err)
		}
	}
	wait()
	before := count()
	for range 50 {
		wait()
	}
	after := count()
	for tries := 0; after[0] > before[0] && tries < 1000; tries++ { // one that has answered may not be gone yet
		runtime.Gosched()
		after = count()
	}
	if after[0] > before[0] || after[1] > before[1]+3 || after[2] > before[2] {
		t.Errorf("goroutines, threads, files: %v before, %v after", before, after)
	}
	if alive, _, err := journal.Alive(dir); !alive || err != nil {
		t.Errorf("the lease: %v, %v", alive, err)
	}
	for range 50 { // cancelled before it sleeps, too
		ctx, cancel := context.WithCancel(context.Background())
		go cancel()
		if err := journal.Wait(ctx, dir); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
}

// asleep waits until a thread of this process sleeps in flock.
func asleep(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); runtime.Gosched() {
		tasks, err := os.ReadDir("/proc/self/task")
		must(t, err)
		for _, task := range tasks {
			raw, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/syscall")
			if number, _, _ := strings.Cut(string(raw), " "); number == fmt.Sprint(unix.SYS_FLOCK) {
				return
			}
		}
	}
	t.Error("no thread sleeps in flock")
}

// TestChildrenDoNotInherit: a program that the holder started does not keep the lease.
func TestChildrenDoNotInherit(t *testing.T) {
	dir := newDir(t)
	l := take(t, dir)
	cat := exec.Command("cat")
	in, err := cat.StdinPipe()
	must(t, err)
	must(t, cat.Start())
	must(t, l.Release())
	must(t, journal.Wait(context.Background(), dir))
	take(t, dir)
	must(t, in.Close())
	must(t, cat.Wait())
}

// TestTakeAmongReaders: who only asks whether the lease is free is taken for no holder.
func TestTakeAmongReaders(t *testing.T) {
	dir := newDir(t)
	must(t, take(t, dir).Release())
	f, err := os.Open(filepath.Join(dir, "lease"))
	must(t, err)
	defer f.Close()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for how := unix.LOCK_SH; ; how ^= unix.LOCK_SH ^ unix.LOCK_UN {
			if err := unix.Flock(int(f.Fd()), how); err != nil {
				t.Error(err)
			}
			for from := time.Now(); time.Since(from) < 300*time.Microsecond; runtime.Gosched() {
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	for range 20 {
		l, err := journal.Take(dir, start)
		if err != nil {
			t.Error(err)
			break
		}
		must(t, l.Release())
	}
	close(stop)
	<-done
}

func TestSignal(t *testing.T) {
	dir := newDir(t)
	c := startChild(t, "hold", dir)
	same(t, "child", c.line(), "held 1")
	_, h, err := journal.Alive(dir)
	must(t, err)
	for name, other := range map[string]journal.Holder{
		"another start": {PID: h.PID, Started: h.Started + 1, Boot: h.Boot},
		"another boot":  {PID: h.PID, Started: h.Started, Boot: strings.Repeat("0", 36)},
		"nobody":        {},
	} {
		if err := other.Signal(syscall.SIGKILL); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, h.Signal(syscall.SIGKILL))
	must(t, journal.Wait(context.Background(), dir))
	io.Copy(io.Discard, c.out)
	c.cmd.Wait()
	if err := h.Signal(syscall.SIGKILL); !fault.Is(err, fault.NotFound) {
		t.Errorf("a process that is gone: %v", err)
	}
}
