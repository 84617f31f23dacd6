package ports

import (
	"os"
	"testing"
)

// TestClaim: a port is claimed while its server holds it, and asking leaves nothing behind.
func TestClaim(t *testing.T) {
	state := t.TempDir()
	if Claimed(state, 8765) {
		t.Error("claimed by nobody")
	}
	if left, _ := os.ReadDir(state); len(left) > 0 {
		t.Errorf("asking made %v", left)
	}
	release, err := Claim(t.Context(), state, 8765)
	if err != nil {
		t.Fatal(err)
	}
	if !Claimed(state, 8765) || Claimed(state, 8766) || Claimed("", 8765) {
		t.Error("want 8765 claimed, and no other")
	}
	release()
	if Claimed(state, 8765) {
		t.Error("claimed after its release")
	}
}
