package command

import "testing"

func TestTier(t *testing.T) {
	for s, want := range map[string]Tier{"t0": T0, "T4": T4} {
		if got, err := ParseTier(s); got != want || err != nil {
			t.Errorf("ParseTier(%q) = %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "t5", "t", "4", "t-1", "tt"} {
		if _, err := ParseTier(s); err == nil {
			t.Errorf("ParseTier(%q) passed", s)
		}
	}
}
