package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// verdict is the result of trying a mutant.
type verdict string

const (
	dead     verdict = "died"
	survived verdict = "SURVIVED" // the test passes although the program is broken
	stale    verdict = "STALE"    // its text is not exactly once in its file
	broken   verdict = "BROKEN"   // the test did not run: it does not compile, or does not exist
	late     verdict = "LATE"     // no time was left, or a patch's tests ran out of time before one failed
)

// patience bounds the tests of one mutant, so that a hanging test is noticed, too. Whole packages
// take longer, above all beside other work, so a patch whose tests run out of time is not dead.
const (
	patience      = 3 * time.Minute
	blindPatience = 10 * time.Minute
)

type result struct {
	mutant
	verdict
	took time.Duration
	said string
}

// line returns the result as one line; with tell, the output follows below it.
func (r result) line(tell bool) string {
	s := fmt.Sprintf("%-8s %5.1fs  %-42s %s %s", r.verdict, r.took.Seconds(), r.name, r.pkg, r.test)
	if r.verdict == stale || tell && r.verdict != dead {
		s += "\n\t" + strings.ReplaceAll(strings.TrimSpace(r.said), "\n", "\n\t")
	}
	return s
}

// bench holds the settings for trying mutants.
type bench struct {
	root string // of the module
	jobs int    // number of mutants at once, at least 1
	tell bool
}

// try tries mutants, and yields each result as soon as it is known.
func (b bench) try(ctx context.Context, all []mutant) iter.Seq[result] {
	todo, done := make(chan mutant), make(chan result)
	for range max(b.jobs, 1) {
		go func() {
			for m := range todo {
				done <- b.one(ctx, m)
			}
		}()
	}
	go func() {
		for _, m := range all {
			todo <- m
		}
		close(todo)
	}()
	return func(yield func(result) bool) {
		more := true
		for range all {
			if r := <-done; more {
				more = yield(r)
			}
		}
	}
}

// one tries one mutant.
func (b bench) one(ctx context.Context, m mutant) (r result) {
	r.mutant = m
	began := time.Now()
	defer func() { r.took = time.Since(began) }()
	text, err := m.apply(b.root)
	if err != nil {
		r.verdict, r.said = stale, err.Error()
		return r
	}
	dir, err := os.MkdirTemp("", "rye-mutant-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = b.overlay(dir, m.file, text)
	}
	if err != nil {
		r.verdict, r.said = broken, err.Error()
		return r
	}
	r.said, err = b.test(ctx, filepath.Join(dir, "overlay.json"), m)
	if m.patch != "" {
		r.verdict, r.test = judgeAny(r.said, err)
	} else {
		r.verdict = judge(m.test, r.said, err)
	}
	if ctx.Err() != nil {
		r.verdict = late
	}
	return r
}

// overlay writes an overlay that makes the go command read text instead of a file.
func (b bench) overlay(dir, file, text string) error {
	source, err := filepath.Abs(filepath.Join(b.root, filepath.FromSlash(file)))
	if err != nil {
		return err
	}
	fake := filepath.Join(dir, filepath.Base(source))
	if err := os.WriteFile(fake, []byte(text), 0o600); err != nil {
		return err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {source: fake}})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "overlay.json"), list, 0o600)
}

// test runs the test of a mutant, or all tests that may notice a patch. The overlay is in the
// environment, so that a test which builds the programs builds the broken ones.
func (b bench) test(ctx context.Context, overlay string, m mutant) (string, error) {
	long, more := patience, []string{"-run", runs(m.test), m.pkg}
	if m.patch != "" {
		long, more = blindPatience, append([]string{"-failfast", "-run", m.test}, strings.Fields(m.pkg)...)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*long) // to compile, and to test
	defer cancel()
	args := append([]string{"test", "-count=1", "-vet=off", "-v", "-timeout", long.String()}, more...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.WaitDelay = b.root, time.Second
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// runs returns the expression for one test with its subtests.
func runs(test string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// judge reads the output of the test: the named test must have failed or hung.
func judge(test, said string, err error) verdict {
	ended := func(how string) bool {
		return regexp.MustCompile(`(?m)^ *--- ` + how + `: ` + regexp.QuoteMeta(test) + ` \(`).MatchString(said)
	}
	began := strings.Contains(said, "=== RUN   "+test+"\n")
	switch {
	case err != nil && (ended("FAIL") || began && strings.Contains(said, "\npanic: ")):
		return dead
	case err == nil && ended("PASS"):
		return survived
	}
	return broken
}
