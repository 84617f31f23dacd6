package main_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestManyExecutions: many runs of a tool for bash, at the same time, through one MCP server and at terminals:
// none fails, and nothing is left of them: no process, descriptor of the server, directory, mount or note.
// RYE_SOAK makes it 300 of each.
func TestManyExecutions(t *testing.T) {
	t.Parallel()
	needBash(t)
	each := 20
	if soak {
		each = 300
	}
	h := newScene(t).home
	h.write(".ai/tools/acme/works.sh", strings.Replace(attackTool, "# description", "# config_schema: {type: object, properties: {n: {type: string}}}\n# description", 1)+
		"echo \"$RYE_PARAM_N\" > \"made-$RYE_PARAM_N\"\n(sleep 60 & setsid sleep 60 &) >/dev/null 2>&1\ncat \"made-$RYE_PARAM_N\"\n")
	h.rye("sign", "--all")
	out, err := h.command("execute", "tool:acme/works", "-p", "n=tier", "--json").CombinedOutput()
	if _, tier, ok := strings.Cut(string(out), `"sandbox":"`); err == nil && ok {
		t.Logf("the sandbox is %s", tier[:2])
	}
	os.Remove(filepath.Join(h.dir, "made-tier"))
	mounts := mountsHere(t)
	t.Run("through one server", func(t *testing.T) {
		in := *h
		in.t = t // the server ends with this
		s, _ := in.connect(nil)
		execute := func(n string) {
			got, failed := call(t, s, "execute", map[string]any{"item_type": "tool", "item_id": "acme/works", "parameters": map[string]any{"n": n}})
			if out := fmt.Sprint(got["text"]); failed || !strings.Contains(out, n+"\n") {
				t.Errorf("%s: %v", n, got)
			}
		}
		atOnce(8, 8, func(i int) { execute(fmt.Sprintf("s%d", i)) }) // what the server opens once is open
		before := descriptors(t, h.dir)
		atOnce(8, each-8, func(i int) { execute(fmt.Sprintf("s%d", 8+i)) })
		after := descriptors(t, h.dir)
		for until := time.Now().Add(10 * time.Second); after > before && time.Now().Before(until); after = descriptors(t, h.dir) {
			time.Sleep(10 * time.Millisecond)
		}
		if t.Logf("the server had %d descriptors, and has %d", before, after); after > before || before == 0 {
			t.Error("descriptors are left")
		}
	})
	t.Run("at terminals", func(t *testing.T) {
		atOnce(4, each, func(i int) {
			n := fmt.Sprintf("p%d", i)
			out, err := atPTY(t, h.command("run", "tool:acme/works", "-p", "n="+n))
			if err != nil || !strings.Contains(out, n+"\r\n") {
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
	(&scene{home: h, t: t}).nothingLeft()
	notes, err := filepath.Glob(filepath.Join(strings.TrimSpace(h.rye("where", "cache")), "ward", "*.run-*"))
	if err != nil || len(notes) > 0 {
		t.Errorf("notes are left: %q, %v", notes, err)
	}
	t.Logf("%d executions through MCP and %d at terminals", each, each)
}

// descriptors counts those of rye's processes in a project.
func descriptors(t *testing.T, dir string) (n int) {
	t.Helper()
	places, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range places {
		exe, _ := os.Readlink(p + "/exe")
		if cwd, _ := os.Readlink(p + "/cwd"); cwd != dir || filepath.Base(exe) != "rye-engine" {
			continue
		}
		all, _ := os.ReadDir(p + "/fd")
		n += len(all)
	}
	return n
}

// atPTY runs a command at a terminal of its own, and returns what it shows.
func atPTY(t *testing.T, cmd *exec.Cmd) (string, error) {
	master, slave := openPTY(t)
	defer master.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err := cmd.Start()
	slave.Close()
	if err != nil {
		return "", err
	}
	out, _ := io.ReadAll(master) // it ends with an error when nobody holds the other side
	return string(out), cmd.Wait()
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
