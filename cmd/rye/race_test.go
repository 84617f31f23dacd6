package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
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
	ctx, stop := context.WithCancel(context.Background())
	var beside sync.WaitGroup
	// One git at a time: two that repack one repository at once fail by each other's
	// doing. store tests readers beside two.
	beside.Go(func() {
		for ctx.Err() == nil {
			for _, args := range [][]string{{"repack", "-adq"}, {"gc", "--quiet"}, {"pack-refs", "--all"}} {
				if out, err := exec.Command(git, append([]string{"-C", repo}, args...)...).CombinedOutput(); err != nil {
					t.Errorf("git %v: %v\n%s", args, err, out)
				}
			}
		}
	})
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
	beside.Wait()
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
	for s := bufio.NewScanner(&out); s.Scan(); {
		var line struct {
			Commit string `json:"commit"`
		}
		if json.Unmarshal(s.Bytes(), &line) == nil && line.Commit != "" {
			return line.Commit, nil
		}
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

// A process killed at any moment leaves nothing to repair: what was acknowledged
// is there, the next command works, and the item is as it was or as it was to be.
func TestKilledWriters(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git on PATH")
	}
	h := newHome(t)
	kills := 12
	if soak {
		kills = 100
	}
	var acked []string
	killed := 0
	for round := range kills {
		h.write(".ai/tools/acme/t0.sh", racer(0, round))
		cmd := h.command("sign", "--json", "tool:acme/t0")
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(rand.IntN(20000))*time.Microsecond, func() { cmd.Process.Kill() })
		if err := cmd.Wait(); err != nil {
			killed++
		}
		timer.Stop()
		for line := range strings.Lines(out.String()) {
			var l struct {
				Commit string `json:"commit"`
			}
			if json.Unmarshal([]byte(line), &l) == nil && l.Commit != "" {
				acked = append(acked, l.Commit)
			}
		}
		id, err := h.sign("tool:acme/t0")
		if err != nil {
			t.Fatalf("after kill %d: %v", round, err)
		}
		acked = append(acked, id)
	}
	h.checkAcked(git, h.store(), [][]string{acked})
	t.Logf("%d of %d were killed in time", killed, kills)
}
