package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkStatus runs rye status and git status in turn on one clean tree, and
// reports the medians and their ratio. The goal is 1.2 (design, "Numbers to reach").
func BenchmarkStatus(b *testing.B) {
	git, err := exec.LookPath("git")
	if err != nil {
		b.Skip("there is no git to compare with")
	}
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			if n > 1000 && testing.Short() {
				b.Skip("makes 10,000 files")
			}
			h := newHome(b)
			for i := range n {
				h.write(fmt.Sprintf(".ai/knowledge/acme/t%03d/e%05d.md", i/100, i), entryText(i))
			}
			h.rye("sign", "--all", "--quiet")
			gitDo := func(args ...string) *exec.Cmd {
				cmd := exec.Command(git, args...)
				cmd.Dir, cmd.Env = h.dir, append(h.env, "GIT_CONFIG_NOSYSTEM=1")
				return cmd
			}
			for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "items"}} {
				if out, err := gitDo(args...).CombinedOutput(); err != nil {
					b.Fatalf("git %v: %v\n%s", args, err, out)
				}
			}
			age(b, filepath.Join(h.dir, ".ai"))
			runs := []struct {
				name string
				cmd  func() *exec.Cmd
				took []time.Duration
			}{
				{name: "git", cmd: func() *exec.Cmd { return gitDo("status", "--short") }},
				{name: "rye", cmd: func() *exec.Cmd { return h.command("status") }},
			}
			one := func(i int) {
				r := &runs[i]
				cmd := r.cmd()
				start := time.Now()
				if err := cmd.Run(); err != nil {
					b.Fatalf("%s status: %v", r.name, err)
				}
				r.took = append(r.took, time.Since(start))
			}
			one(0) // both write what they learn
			one(1)
			runs[0].took, runs[1].took = nil, nil
			for b.Loop() {
				one(0)
				one(1)
			}
			var median [2]float64
			for i := range runs {
				slices.Sort(runs[i].took)
				median[i] = float64(runs[i].took[len(runs[i].took)/2]) / 1e6
				b.ReportMetric(median[i], runs[i].name+"-ms")
			}
			b.ReportMetric(median[1]/median[0], "ratio")
		})
	}
}

func entryText(i int) string {
	return fmt.Sprintf("---\nid: e%05d\ntitle: Entry %d\nversion: 1.0.0\nentry_type: reference\ncategory: acme/t%03d\ntags: [bench]\n---\n\nFact %d.\n", i, i, i/100, i*7919)
}

// age dates every file below dir back, as if nobody had touched it for an hour:
// what was written this moment has to be read again, by git too.
func age(b *testing.B, dir string) {
	then := time.Now().Add(-time.Hour)
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chtimes(p, then, then)
	})
	if err != nil {
		b.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // the change itself counts, where there is a time for it
}
