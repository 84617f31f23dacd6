package session

import (
	"testing"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

func TestCapabilitiesOfCallers(t *testing.T) {
	h := &Host{Dirs: Dirs{ConfigDir: t.TempDir()}, Now: time.Now}
	for _, tc := range []struct {
		holds, verb string
		want        fault.Code // "" when it is permitted
	}{
		{"rye.*", "key.list", ""},
		{"rye.add", "add", ""},
		{"rye.key.list", "key.list", ""},
		{"rye.key.list", "key.new", fault.Denied},
		{"rye.key", "key.list", fault.Denied},
		{"rye.add", "addition", fault.Denied},
		{"rye.execute.*", "add", fault.Denied},
		{"rye.key.*", "key.list", fault.Malformed},
		{"rye.a*", "add", ""}, // a star of a pattern covers names of verbs, too
		{"rye.add.", "add", fault.Malformed},
		{"rye..add", "add", fault.Malformed},
		{"rye.Add", "add", fault.Malformed},
		{"rye.", "add", fault.Malformed},
		{"add", "add", fault.Malformed},
		{"*", "add", fault.Malformed},
	} {
		if err := h.Permit(rye.Program("robot", tc.holds), tc.verb); fault.CodeOf(err) != tc.want {
			t.Errorf("%s by a caller that holds %q: %v, want code %q", tc.verb, tc.holds, err, tc.want)
		}
	}
}
