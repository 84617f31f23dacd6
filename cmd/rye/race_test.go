package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// soak says whether the long counts were asked for (make soak).
var soak = os.Getenv("RYE_SOAK") != ""

func racer(i, round int) string {
	return fmt.Sprintf("#!/bin/bash\n# version: 1.0.%d\n# executor_id: rye/core/runtimes/bash_runtime\n# description: racer %d\necho %d\n", round, i, round)
}

// Eight processes sign and record in one space while plain git packs and collects
// the same repository: every acknowledged commit stays reachable, no process sees
// an error that is not one, and the repository passes git fsck --strict.
func TestWritersBesideGit(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git on PATH")
	}
	h := newHome(t)
	repo := h.store()
	rounds := 4
	if soak {
		rounds = 40
	}
	stop := h.maintain(git, repo)
	acked := make([][]string, 8)
	var writers sync.WaitGroup
	for i := range acked {
		writers.Go(func() {
			for round := range rounds {
				h.write(fmt.Sprintf(".ai/tools/acme/t%d.sh", i), racer(i, round))
				id, err := h.sign(fmt.Sprintf("tool:acme/t%d", i))
				if err != nil {
					t.Errorf("writer %d, round %d: %v", i, round, err)
					return
				}
				acked[i] = append(acked[i], id)
			}
		})
	}
	writers.Wait()
	stop()
	h.checkAcked(git, repo, acked)
	if out := h.rye("status", "--all", "--json"); strings.Count(out, `"state":"signed"`) != len(acked) {
		t.Errorf("status:\n%s", out)
	}
}

// sign signs one item and returns the commit that rye acknowledged.
func (h *home) sign(ref string) (string, error) {
	cmd := h.command("sign", "--json", ref)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w: %s", err, errs.String())
	}
	if ids := commits(out.String()); len(ids) > 0 {
		return ids[0], nil
	}
	return "", fmt.Errorf("no commit in %q", out.String())
}

// checkAcked looks for every acknowledged commit in the history of the space.
func (h *home) checkAcked(git, repo string, acked [][]string) {
	h.t.Helper()
	out, err := exec.Command(git, "-C", repo, "rev-list", "refs/heads/spaces/project").Output()
	if err != nil {
		h.t.Fatalf("git rev-list: %v", err)
	}
	history := string(out)
	n := 0
	for i, ids := range acked {
		for _, id := range ids {
			n++
			if !strings.Contains(history, id) {
				h.t.Errorf("commit %s of writer %d was acknowledged and is gone", id, i)
			}
		}
	}
	if out, err := exec.Command(git, "-C", repo, "fsck", "--strict", "--no-dangling").CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
		h.t.Errorf("git fsck: %v\n%s", err, out)
	}
	h.t.Logf("%d commits acknowledged, %d in history", n, strings.Count(history, "\n"))
}

// maintain has plain git keep a repository in order, again and again, until stop is called.
// It may fail for what is said in the words of excused.
func (h *home) maintain(git, repo string, excused ...string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var beside sync.WaitGroup
	// One git at a time: two that repack one repository at once fail by each other's
	// doing. store tests readers beside two.
	beside.Go(func() {
		for ctx.Err() == nil {
			for _, args := range [][]string{{"repack", "-adq"}, {"gc", "--quiet"}, {"pack-refs", "--all"}} {
				out, err := exec.Command(git, append([]string{"-C", repo}, args...)...).CombinedOutput()
				said := func(words string) bool { return strings.Contains(string(out), words) }
				if err != nil && !slices.ContainsFunc(excused, said) {
					h.t.Errorf("git %v: %v\n%s", args, err, out)
				}
			}
		}
	})
	return func() { cancel(); beside.Wait() }
}

// asFirst returns what makes a command the first process of a namespace, whose pid is 1, as
// in a container; nil where that cannot be.
var asFirst = func() func(*exec.Cmd) { return nil }

// TestKilledWriters: a process killed at any moment, while plain git repacks, collects and
// packs refs, leaves nothing to repair: what was acknowledged is there, the next command
// works, and nothing that was left is in its way, whatever pid it has.
func TestKilledWriters(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git on PATH")
	}
	h := newHome(t)
	repo := h.store()
	// The lock of a ref that a dead process held is git's to wait for until the next rye comes.
	stop := h.maintain(git, repo, ".lock': File exists")
	kills := 10
	if soak {
		kills = 600
	}
	var acked []string
	var first, killed int
	pace := 20 * time.Millisecond // how long an undisturbed command takes
	for round := 0; killed < kills && round < 20*kills; round++ {
		h.write(".ai/tools/acme/t0.sh", racer(0, round))
		cmd := h.command("sign", "--json", "tool:acme/t0")
		if round%5 == 4 {
			cmd = h.command("gc")
		}
		alone := asFirst() != nil && round%2 == 1
		if alone {
			asFirst()(cmd)
		}
		out, died := killedWithin(t, cmd, rand.N(pace))
		if died {
			if killed++; alone {
				first++
			}
		}
		acked = append(acked, commits(out)...)
		began := time.Now()
		id, err := h.sign("tool:acme/t0")
		if err != nil {
			t.Fatalf("after kill %d: %v", killed, err)
		}
		pace = min(max(time.Since(began), time.Millisecond), time.Second)
		acked = append(acked, id)
	}
	stop()
	h.checkAcked(git, repo, [][]string{acked})
	t.Logf("%d killed, %d of them with the pid 1; %d commits acknowledged", killed, first, len(acked))
	if killed < kills || asFirst() != nil && first == 0 {
		t.Errorf("%d of %d were killed in time, %d with the pid 1", killed, kills, first)
	}
	h.nothingLeft(repo)
}

// killedWithin runs a command, kills it after a while, and returns what it had printed by
// then.
func killedWithin(t *testing.T, cmd *exec.Cmd, after time.Duration) (out string, died bool) {
	t.Helper()
	var b bytes.Buffer
	cmd.Stdout = &b
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { cmd.Process.Kill() })
	defer timer.Stop()
	err := cmd.Wait()
	return b.String(), err != nil && cmd.ProcessState.ExitCode() == -1
}

// commits returns the commits that lines of JSON name.
func commits(out string) (ids []string) {
	for line := range strings.Lines(out) {
		var l struct {
			Commit string `json:"commit"`
		}
		if json.Unmarshal([]byte(line), &l) == nil && l.Commit != "" {
			ids = append(ids, l.Commit)
		}
	}
	return ids
}

// nothingLeft fails for what dead processes left and rye gc, when it is old enough, leaves.
func (h *home) nothingLeft(repo string) {
	h.t.Helper()
	old := time.Now().Add(-48 * time.Hour)
	temps := func() (all []string) {
		filepath.WalkDir(filepath.Join(h.dir, ".ai"), func(path string, e fs.DirEntry, err error) error {
			if err == nil && strings.HasPrefix(e.Name(), ".rye-tmp-") {
				all = append(all, path)
			}
			return nil
		})
		return all
	}
	for _, path := range temps() {
		if err := os.Chtimes(path, old, old); err != nil {
			h.t.Error(err)
		}
	}
	h.rye("gc")
	left := temps()
	for _, glob := range []string{"rye.tmp/*", "*.lock", "refs/*/*.lock", "refs/*/*/*.lock", "objects/pack/*.keep", "objects/pack/tmp*"} {
		found, err := filepath.Glob(filepath.Join(repo, filepath.FromSlash(glob)))
		if err != nil {
			h.t.Fatal(err)
		}
		left = append(left, found...)
	}
	left = slices.DeleteFunc(left, func(path string) bool { return filepath.Base(path) == "rye.lock" }) // means nothing and stays
	if len(left) > 0 {
		h.t.Errorf("left: %v", left)
	}
}
