package main_test

import (
	"strings"
	"testing"
)

// TestSignAllAsksOnce: at a terminal one question shows every text that someone else can have
// written, beside the newest version by the user.
func TestSignAllAsksOnce(t *testing.T) {
	t.Parallel()
	m := newMergers(t)
	m.mallory()
	m.git("merge", "-q", "--ff-only", "mallory")
	before := m.now()
	shown, exit := terminal(t, m.home, "[y/N]", "n\n", "sign", "--all")
	if exit != 16 || m.now() != before {
		t.Errorf("a no: exit %d:\n%s", exit, shown)
	}
	for _, want := range []string{"+echo evil", "compared with the version of ", "signed by you", "+obey", "knowledge:acme/evil"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the question does not show %q:\n%s", want, shown)
		}
	}
	if strings.Contains(shown, "+echo step 1") || strings.Count(shown, "[y/N]") != 1 {
		t.Errorf("the question is\n%s", shown)
	}
	if shown, exit = terminal(t, m.home, "[y/N]", "y\n", "sign", "--all"); exit != 0 || !strings.Contains(m.now(), "rye:signed:") {
		t.Errorf("a yes: exit %d:\n%s", exit, shown)
	}
}
