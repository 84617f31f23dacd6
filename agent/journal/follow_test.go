package journal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/fault"
)

// TestLiveIsDroppable: what is damaged in live.jsonl is passed over, line by line.
func TestLiveIsDroppable(t *testing.T) {
	dir := newDir(t)
	_, j := create(t, dir)
	add(t, j, warn("a"), false)
	j.Live(delta("x"))
	file := filepath.Join(dir, "live.jsonl")
	good, err := os.ReadFile(file)
	must(t, err)
	bad := bytes.Join([][]byte{
		good, []byte("rubbish\n"), make([]byte, 99), []byte("\n"), bytes.Repeat([]byte("y"), 3*journal.MaxLiveLine), []byte("\n\n"),
		bytes.Replace(good, []byte(`"after":1`), []byte(`"after":99`), 1), bytes.Replace(good, []byte(`"x"`), []byte(`"z"`), 1), []byte(`{"after":1`),
	}, nil)
	must(t, os.WriteFile(file, bad, 0o600))
	add(t, j, warn("b"), false)
	all, _, err := follow(t, context.Background(), dir, journal.FollowOptions{Live: true})
	same(t, "all", fmt.Sprint(all, err), "[1 false a 1 true x 2 false b] <nil>")
	j.Live(delta("behind half a line"))
	j.Live(delta("w"))
	all, _, err = follow(t, context.Background(), dir, journal.FollowOptions{Live: true})
	same(t, "all", fmt.Sprint(all, err), "[1 false a 1 true x 2 false b 2 true w] <nil>")
	must(t, os.WriteFile(file, bytes.Replace(bad, []byte(`"after":99`), []byte(`"after":-9`), 1), 0o600))
	all, _, err = follow(t, context.Background(), dir, journal.FollowOptions{Live: true})
	same(t, "all", fmt.Sprint(all, err), "[1 false a 1 true x 1 true z 2 false b] <nil>")
	must(t, os.Remove(file))
	must(t, os.Symlink("/dev/null", file))
	all, _, err = follow(t, context.Background(), dir, journal.FollowOptions{Live: true})
	same(t, "without", fmt.Sprint(all, err), "[1 false a 2 false b] <nil>")
}

// TestLiveAfterACrash: half a line costs itself only, and lines that came after records which
// are lost are lost, too.
func TestLiveAfterACrash(t *testing.T) {
	dir := newDir(t)
	l, j := create(t, dir)
	add(t, j, warn("a"), false)
	j.Live(delta("x"))
	must(t, j.Close())
	file := filepath.Join(dir, "live.jsonl")
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(`{"after":1,"time`)
	must(t, err)
	must(t, f.Close())
	j = reopen(t, l, journal.Options{})
	j.Live(delta("y"))
	j.Live(delta("z"))
	all, _, _ := follow(t, context.Background(), dir, journal.FollowOptions{Live: true})
	same(t, "all", all, "[1 false a 1 true x 1 true y 1 true z]")
	add(t, j, warn("lost"), false)
	j.Live(delta("lost"))
	must(t, j.Close())
	raw, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	must(t, err)
	must(t, os.Truncate(filepath.Join(dir, "journal.jsonl"), int64(bytes.IndexByte(raw, '\n')+1)))
	j = reopen(t, l, journal.Options{})
	add(t, j, warn("b"), false)
	j.Live(delta("n"))
	all, _, _ = follow(t, context.Background(), dir, journal.FollowOptions{Live: true})
	same(t, "all", all, "[1 false a 2 false b 2 true n]")
}

func TestLiveRefuses(t *testing.T) {
	dir := newDir(t)
	_, j := create(t, dir)
	j.Live(warn("critical"))
	j.Live(delta(strings.Repeat("x", journal.MaxLiveLine)))
	j.Live(journal.Record{Time: start, Type: "progress", Data: []byte(`{"text":1}`)})
	j.Live(journal.Record{Time: start, Type: "progress", Data: []byte(`{"te`)})
	must(t, os.Chmod(filepath.Join(dir, "live.jsonl"), 0o400)) // it is open already
	st, err := os.Stat(filepath.Join(dir, "live.jsonl"))
	must(t, err)
	same(t, "size", st.Size(), 0)
}

// TestLiveBeginsAnew: the file is bounded, and who follows reads on in the next. It writes
// some 130 MiB, so only RYE_SOAK=1 runs it whole.
func TestLiveBeginsAnew(t *testing.T) {
	dir := newDir(t)
	_, j := create(t, dir)
	n := 100
	if soak() {
		n = 2200
	}
	long := strings.Repeat("x", journal.MaxLiveLine-300)
	c := make(chan string, 1)
	seen, first := 0, make(chan struct{})
	go func() {
		last := ""
		_, err := journal.Follow(context.Background(), dir, journal.FollowOptions{Live: true, Wait: true}, func(r journal.Record) error {
			if r.Live {
				if seen++; seen == 1 {
					close(first)
				}
				last = text(r)[:6]
			}
			return nil
		})
		c <- fmt.Sprint(last, err)
	}()
	for i := range n {
		j.Live(delta(fmt.Sprintf("%06d", i) + long))
		if i == 0 {
			<-first
		}
		if st, err := os.Stat(filepath.Join(dir, "live.jsonl")); err != nil || st.Size() > journal.MaxLive {
			t.Fatalf("%v, %v", st, err)
		}
	}
	add(t, j, completed, true)
	same(t, "the last", <-c, fmt.Sprintf("%06d<nil>", n-1))
	t.Logf("saw %d of %d", seen, n)
}

// TestFollowFarBehind: droppable records stand where they belong in a long journal, too.
func TestFollowFarBehind(t *testing.T) {
	dir := newDir(t)
	_, j := create(t, dir)
	var want []string
	for i := range 1500 {
		add(t, j, warn(fmt.Sprint("r", i)), false)
		want = append(want, fmt.Sprint(i+1, false, " r", i))
		if i%400 == 399 {
			j.Live(delta("l"))
			want = append(want, fmt.Sprint(i+1, true, " l"))
		}
	}
	got, _, err := follow(t, context.Background(), dir, journal.FollowOptions{Live: true})
	must(t, err)
	same(t, "all", got, want)
}

func TestFollowDamage(t *testing.T) {
	l, file, raw := small(t)
	bad := bytes.Replace(raw, []byte(`"r1"`), []byte(`"R1"`), 1)
	must(t, os.WriteFile(file, bad, 0o600))
	for _, wait := range []bool{false, true} {
		all, _, err := follow(t, context.Background(), l.Dir(), journal.FollowOptions{Wait: wait})
		var d *journal.Damage
		if !errors.As(err, &d) || !fault.Is(err, fault.Integrity) || len(all) != 1 {
			t.Errorf("%v after %v", err, all)
		}
	}
	must(t, os.WriteFile(file, raw, 0o600))
	_, err := journal.Follow(context.Background(), l.Dir(), journal.FollowOptions{Wait: true}, func(r journal.Record) error {
		if r.Seq == 3 {
			return os.Truncate(file, 10)
		}
		return nil
	})
	if !fault.Is(err, fault.Integrity) {
		t.Errorf("a journal that became shorter: %v", err)
	}
}
