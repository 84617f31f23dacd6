package journal_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/agent/journal"
)

// benchAppend appends records of 4 KiB, and beside each, in the same file system, does what
// cannot be less: one write, and one sync where the record has one.
func benchAppend(b *testing.B, synced bool) {
	dir := filepath.Join(b.TempDir(), thread)
	must(b, journal.Make(dir))
	_, j := create(b, dir)
	bare, err := os.OpenFile(filepath.Join(dir, "bare"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	must(b, err)
	defer bare.Close()
	r := warn(strings.Repeat("some text ", 400))
	line := []byte(strings.Repeat("some text ", 425))
	var ours, theirs []time.Duration
	one := func() time.Duration {
		from := time.Now()
		_, err := j.Append(r, synced)
		must(b, err)
		return time.Since(from)
	}
	write := func() time.Duration {
		from := time.Now()
		_, err := bare.Write(line)
		must(b, err)
		if synced {
			must(b, bareSync(bare))
		}
		return time.Since(from)
	}
	for first := false; b.Loop(); first = !first { // they take turns: the second of two syncs is faster
		if first {
			theirs = append(theirs, write())
		}
		ours = append(ours, one())
		if !first {
			theirs = append(theirs, write())
		}
	}
	b.ReportMetric(micros(ours), "µs/append")
	b.ReportMetric(micros(theirs), "µs/bare")
}

func micros(all []time.Duration) float64 {
	slices.Sort(all)
	return float64(all[len(all)/2].Nanoseconds()) / 1e3
}

func BenchmarkAppendSynced(b *testing.B) { benchAppend(b, true) }
func BenchmarkAppend(b *testing.B)       { benchAppend(b, false) }

// BenchmarkOpen verifies a journal of 10,000 records, as 1,000 turns have.
func BenchmarkOpen(b *testing.B) {
	dir := filepath.Join(b.TempDir(), thread)
	must(b, journal.Make(dir))
	l, j := create(b, dir)
	for i := range 10_000 {
		add(b, j, warn(fmt.Sprint(i, strings.Repeat(" some text", 100))), false)
	}
	must(b, j.Close())
	for b.Loop() {
		j, err := l.Open(context.Background(), journal.Options{})
		must(b, err)
		must(b, j.Close())
	}
}

// BenchmarkFollow measures from just before a process appends a record to the visit in
// another; the records are not synced.
func BenchmarkFollow(b *testing.B) {
	dir := filepath.Join(b.TempDir(), thread)
	must(b, journal.Make(dir))
	c := startChild(b, "pace", dir)
	same(b, "child", c.line(), "ready")
	seen := make(chan time.Duration)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		journal.Follow(ctx, dir, journal.FollowOptions{Live: true, Wait: true}, func(r journal.Record) error {
			seen <- time.Since(r.Time)
			return nil
		})
	}()
	var all []time.Duration
	for b.Loop() {
		fmt.Fprintln(c.in, "x")
		all = append(all, <-seen)
	}
	cancel()
	<-ended
	b.ReportMetric(micros(all), "µs/median")
	b.ReportMetric(float64(all[len(all)*99/100].Nanoseconds())/1e3, "µs/p99")
}

func BenchmarkLive(b *testing.B) {
	_, j := create(b, newDir(b))
	for b.Loop() {
		j.Live(delta("some text"))
	}
}
