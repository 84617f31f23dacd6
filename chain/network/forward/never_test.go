package forward

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNever: rye's own ports and those of agents are out of reach at this machine, whatever needs,
// mirrors and the user's policy say, and by whichever name or address. At another machine they are ports
// like others.
func TestNever(t *testing.T) {
	testOnlyX = t.TempDir()
	t.Cleanup(func() { testOnlyX = "/tmp/.X11-unix" })
	if err := os.WriteFile(filepath.Join(testOnlyX, "X3"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	own := netip.MustParseAddr("93.184.215.1")
	names := map[string][]string{"self.example.org": {own.String()}, "far.example.org": {"93.184.215.14"}, "box": {own.String()}}
	for _, tc := range []struct {
		at  string
		why string // "" is reached
	}{
		{"localhost:8765", "port 8765 of this machine is rye's own, which no tool reaches"},
		{"a.localhost:8765", "rye's own"},
		{"127.0.0.1:8765", "rye's own"},
		{"127.8.8.8:8765", "rye's own"},
		{"[::1]:8765", "rye's own"},
		{"[::ffff:127.0.0.1]:8765", "rye's own"},
		{own.String() + ":8765", "rye's own"},
		{"self.example.org:8765", "rye's own"},
		{"box:8765", "rye's own"},
		{"localhost:2375", "port 2375 of this machine is Docker's, which no tool reaches"},
		{"localhost:2376", "Docker's"},
		{"localhost:6000", "the X server's"},
		{"localhost:6003", "the X server's"},
		{"localhost:6010", "the X server's"},
		{"localhost:6063", "the X server's"},
		{"localhost:6006", ""}, // no display: TensorBoard
		{"localhost:6064", ""},
		{"localhost:8766", ""},
		{"far.example.org:8765", ""},
		{"far.example.org:2375", ""},
		{"93.184.215.99:6000", ""},
	} {
		for _, mirror := range []bool{false, true} {
			w := &world{names: names}
			o := Options{Needs: []string{tc.at}, Ours: func(port uint16) bool { return port == 8765 },
				Allow: func(string, netip.AddrPort) bool { return true }, Own: func() []netip.Addr { return []netip.Addr{own} }}
			if mirror {
				o.Needs, o.Mirrors = nil, o.Needs
			}
			f, _ := started(t, w, o)
			conn, err := f.reach(f.doors[0].to)
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				conn.Close()
			}
			if (got == "") != (tc.why == "") || !strings.Contains(got, tc.why) || tc.why != "" && len(w.dialed) > 0 {
				t.Errorf("%s, mirror %v: %q, dialled %v; want %q", tc.at, mirror, got, w.dialed, tc.why)
			}
			f.Close()
		}
	}
}

// TestNeverByProxy: the proxy does not lead there either, for a tool that may reach every host.
func TestNeverByProxy(t *testing.T) {
	w, f, at := served(t, Options{Needs: []string{"*:8765", "*:2375", "localhost:2375"}, Ours: func(port uint16) bool { return port == 8765 }}, nil)
	for _, host := range []string{"localhost:8765", "127.0.0.1:8765", "localhost:2375", "[::1]:2375"} {
		if got := said(t, at, "CONNECT "+host+" HTTP/1.1\r\nHost: x\r\n\r\n"); !strings.Contains(got, " 403 ") {
			t.Errorf("%s: %q", host, got)
		}
	}
	f.Close()
	if len(w.dialed) > 0 {
		t.Errorf("dialled %v", w.dialed)
	}
}
