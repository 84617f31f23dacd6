package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/rye-os/rye"
)

// What a person at a terminal does with threads: reads, interrupts, agrees.

const tidyDirective = "# Tidy\n\n```xml\n" + `<directive name="tidy" version="1.0.0">
  <metadata>
    <description>Tidies up</description>
    <category>acme</category>
    <author>ann</author>
    <model provider="acme/scripted"/>
    <permissions><execute><tool>acme.*</tool></execute></permissions>
  </metadata>
</directive>
` + "```\n\nTidy up.\n"

const scriptedHead = `version: "1.0.0"
tool_type: provider
executor_id: null
category: acme
description: A model that answers from a script
config:
  mock:
    turns:
`

// threads is a person with a directive, and a provider that plays these turns.
func threads(t *testing.T, turns string) *home {
	t.Helper()
	h := newHome(t)
	h.write(".ai/directives/acme/tidy.md", tidyDirective)
	h.write(".ai/tools/acme/scripted.yaml", scriptedHead+turns)
	h.rye("sign", "--all")
	return h
}

// newest is the newest thread.
func (h *home) newest() (info rye.ThreadInfo) {
	h.t.Helper()
	if err := json.Unmarshal([]byte(h.rye("thread", "list", "--limit", "1", "--json")), &info); err != nil {
		h.t.Fatal(err)
	}
	return info
}

// TestInterruptedFollow: Ctrl-C ends the showing, and not the thread.
func TestInterruptedFollow(t *testing.T) {
	t.Parallel()
	h := threads(t, "      - {say: Late., wait: 1h}\n")
	cmd := h.command("thread", "start", "directive:acme/tidy", "--follow")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	first, _ := bufio.NewReader(out).ReadString('\n')
	i := h.newest()
	if !strings.Contains(first, i.ID) {
		t.Errorf("the first line is %q, without the id %s", first, i.ID)
	}
	cmd.Process.Signal(os.Interrupt)
	if cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("exit %d, want 130", cmd.ProcessState.ExitCode())
	}
	if want := "rye: thread " + i.ID + " goes on; to end it: rye thread cancel " + i.ID + "\n"; !strings.Contains(stderr.String(), want) {
		t.Errorf("it says %q, want %q", stderr.String(), want)
	}
	if i = h.newest(); i.Status != "running" {
		t.Errorf("the thread is %s, want running", i.Status)
	}
	h.rye("thread", "cancel", i.ID)
}

// TestInterruptedAsk: nobody waits for the answer any more, so nobody pays for it.
func TestInterruptedAsk(t *testing.T) {
	t.Parallel()
	h := threads(t, "      - {calls: [{name: rye_search, args: {query: tidy}}]}\n      - {say: Late., wait: 1h}\n")
	cmd := h.command("ask", "--provider", "acme/scripted", "hello")
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(stderr)
	if line, _ := said.ReadString('\n'); !strings.Contains(line, "rye: search") { // it listens for signals by now
		t.Errorf("the first line is %q", line)
	}
	cmd.Process.Signal(os.Interrupt)
	var rest bytes.Buffer
	rest.ReadFrom(said)
	if cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("exit %d, want 130", cmd.ProcessState.ExitCode())
	}
	i := h.newest()
	if i.Status != "cancelled" {
		t.Errorf("the thread is %s, want cancelled", i.Status)
	}
	if !strings.Contains(rest.String(), "rye: cancelled thread "+i.ID) {
		t.Errorf("it says %q", rest.String())
	}
}

// TestThreadIsShownOnATerminal: words that come in pieces make one line, and what a model says does
// not reach the terminal as a command to it.
func TestThreadIsShownOnATerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	h := threads(t, `      - {say: ["one ", "two ", "\e[31mthree"]}`+"\n")
	for _, args := range [][]string{{"start", "directive:acme/tidy", "--follow"}, {"log"}} {
		if args[0] == "log" {
			args = append(args, h.newest().ID)
		}
		shown, _ := terminal(t, h, "no prompt", "", append([]string{"thread"}, args...)...)
		if !strings.Contains(shown, "\r\n| one two ") || strings.Contains(shown, "\x1b[31mthree") || !strings.Contains(shown, "three\r\n") {
			t.Errorf("%q:\n%q", args, shown)
		}
		if !strings.Contains(shown, "\x1b[1mthread\x1b[0m") {
			t.Errorf("%q: no colours:\n%q", args, shown)
		}
	}
	if piped := h.rye("thread", "log", h.newest().ID); strings.Contains(piped, "\x1b") {
		t.Errorf("colours or escapes in a pipe: %q", piped)
	}
}

// TestThreadIsAllowed: a yes at a terminal lets the one call through, and the thread goes on.
func TestThreadIsAllowed(t *testing.T) {
	t.Parallel()
	needBash(t)
	h := threads(t, `      - calls: [{name: rye_execute, args: {item_id: "tool:acme/clean"}}]
      - {say: "It says ${result.0.text}"}
`)
	h.write(".ai/tools/acme/clean.sh", attackTool+"rm -rf src\necho it is clean\n")
	h.rye("sign", "--all")
	h.rye("thread", "start", "directive:acme/tidy")
	id := h.newest().ID
	h.rye("thread", "wait", id)
	asks := h.newest().Question
	if asks == "" {
		t.Fatalf("nothing is asked: %s", h.rye("thread", "log", id))
	}
	if shown, exit := terminal(t, h, "[y/N]", "y\n", "approve", asks); exit != 0 {
		t.Fatalf("exit %d:\n%s", exit, shown)
	}
	if out := h.rye("thread", "wait", id); !strings.Contains(out, "completed") || !strings.Contains(out, "it is clean") {
		t.Errorf("after the yes:\n%s", out)
	}
	if log := h.rye("thread", "log", id); strings.Count(log, "execute tool:acme/clean") != 1 {
		t.Errorf("it ran more or less than once:\n%s", log)
	}
}
