package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestManyExecutions: many runs, at the same time, through one server and as processes of
// their own: none fails, and nothing is left of them. RYE_SOAK makes it 300 of each.
func TestManyExecutions(t *testing.T) {
	t.Parallel()
	needBash(t)
	each := 40
	if soak {
		each = 300
	}
	h := newHome(t)
	h.write(".ai/tools/acme/works.sh", strings.Replace(attackTool, "# description", "# config_schema: {type: object, properties: {n: {type: string}}}\n# description", 1)+
		"echo \"$RYE_PARAM_N\" > \"made-$RYE_PARAM_N\"\n(sleep 60 & setsid sleep 60 &) >/dev/null 2>&1\ncat \"made-$RYE_PARAM_N\"\n")
	h.rye("sign", "--all")
	mounts := mountsHere(t)
	t.Run("through one server", func(t *testing.T) {
		in := *h
		in.t = t // the server ends with this
		s, _ := in.connect(nil)
		atOnce(8, each, func(i int) {
			n := fmt.Sprintf("s%d", i)
			got, failed := call(t, s, "execute", map[string]any{"item_type": "tool", "item_id": "acme/works", "parameters": map[string]any{"n": n}})
			if out := fmt.Sprint(got["text"]); failed || !strings.Contains(out, n+"\n") {
				t.Errorf("%s: %v", n, got)
			}
		})
	})
	t.Run("as processes", func(t *testing.T) {
		atOnce(4, each, func(i int) {
			n := fmt.Sprintf("p%d", i)
			out, err := h.command("execute", "tool:acme/works", "-p", "n="+n).CombinedOutput()
			if err != nil || !strings.Contains(string(out), n+"\n") {
				t.Errorf("%s: %v: %s", n, err, out)
			}
		})
	})
	if made, _ := filepath.Glob(filepath.Join(h.dir, "made-*")); len(made) != 2*each {
		t.Errorf("%d runs did their work, want %d", len(made), 2*each)
	}
	for until := time.Now().Add(time.Minute); len(processesOf(h.dir)) > 0 && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond) // what was killed is on its way
	}
	if left := processesOf(h.dir); len(left) > 0 {
		t.Errorf("processes are left: %q", left)
	}
	if now := mountsHere(t); now != mounts {
		t.Errorf("there are %d mounts, and were %d", now, mounts)
	}
	runs, _ := filepath.Glob(filepath.Join(strings.TrimSpace(h.rye("where", "cache")), "runs", "*"))
	for _, dir := range runs {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			t.Errorf("a directory of a run is left: %s", dir)
		}
	}
}

// atOnce calls do for 0 to n-1, at most so many at the same time.
func atOnce(most, n int, do func(i int)) {
	var all sync.WaitGroup
	turns := make(chan struct{}, most)
	for i := range n {
		turns <- struct{}{}
		all.Go(func() { defer func() { <-turns }(); do(i) })
	}
	all.Wait()
}

func mountsHere(t *testing.T) int {
	raw, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(raw), "\n")
}

// processesOf lists what runs in a project, and programs of this test with its home: other tests
// run the same programs beside this one.
func processesOf(dir string) (all []string) {
	places, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range places {
		cwd, _ := os.Readlink(p + "/cwd")
		exe, _ := os.Readlink(p + "/exe")
		line, _ := os.ReadFile(p + "/cmdline")
		env, _ := os.ReadFile(p + "/environ")
		if cwd == dir || strings.HasPrefix(exe, bin+"/") && strings.Contains(string(line)+string(env), filepath.Dir(dir)+"/") {
			all = append(all, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return all
}
