package main_test

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// TestUninstallBesideServer: while a client's server works nothing is removed, and the process to
// stop is named.
func TestUninstallBesideServer(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	server := exec.CommandContext(t.Context(), program("rye"), "mcp")
	server.Dir, server.Env = h.dir, h.env
	in, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`+"\n")
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	uninstall := func(args ...string) (string, error) {
		cmd := exec.Command(program("rye"), append([]string{"self", "uninstall"}, args...)...)
		cmd.Dir, cmd.Env = h.dir, h.env
		text, err := cmd.CombinedOutput()
		return string(text), err
	}
	text, err := uninstall("--yes")
	want := fmt.Sprintf("a server is at work: process %d, rye mcp", server.Process.Pid)
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 4 || !strings.Contains(text, want) || strings.Contains(text, "removed") {
		t.Errorf("%v, want 4 and %q:\n%s", err, want, text)
	}
	in.Close()
	if err := server.Wait(); err != nil {
		t.Fatal(err)
	}
	if text, err := uninstall("--yes"); err != nil || !strings.Contains(text, "removed  cache") {
		t.Errorf("after its end: %v\n%s", err, text)
	}
}
