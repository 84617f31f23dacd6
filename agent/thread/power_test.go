//go:build unix

package thread

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rye-os/rye/agent/journal"
)

// A power cut takes what was written after the last record that was synced: the end of a turn,
// the beginning of the thread, what a loop was told. A thread goes on without it, and did what
// one did that nobody stopped.
func TestPowerCut(t *testing.T) {
	c, want := crashed(t)
	for _, at := range []struct {
		step string
		nth  int
	}{{"after thread_started", 1}, {"after turn_done", 1}, {"after turn_done", 2}, {"after budget_settled", 1}, {"after host_call", 5}, {"after turn_done", 3}, {"before model_intent", 3}} {
		t.Run(at.step, func(t *testing.T) {
			i := c.killed(t, at.step, at.nth)
			dir := c.threadDir(t, i.ID)
			if cutPower(t, dir) == 0 {
				t.Error("nothing stood behind the last synced record")
			}
			c.goesOn(t, i, want)
		})
	}
	c.fsck(t)
}

// cutPower cuts a journal behind its last synced record, and returns how many bytes that took.
func cutPower(t *testing.T, dir string) int {
	t.Helper()
	synced := []string{"model_intent", "cognition_out", "tool_call_start", "tool_call_result", "thread_resumed"}
	path := filepath.Join(dir, "journal.jsonl")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(raw, []byte("\n"))
	keep, size := 0, 0
	for i, r := range crashRecords(t, dir) {
		if size += len(lines[i]); slices.Contains(synced, r.Type) || journal.IsFinal(r.Type) {
			keep = size
		}
	}
	if err := os.Truncate(path, int64(keep)); err != nil {
		t.Fatal(err)
	}
	return len(raw) - keep
}
