package session

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rye-os/rye"
)

func TestVerdictsOfManyAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	const writers, each = 16, 50
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				v := rye.Verdict{Verb: "execute", Ref: fmt.Sprintf("tool:acme/w%d-%d", w, i), Verdict: "allow", Rule: strings.Repeat("r", i)}
				if err := appendVerdict(dir, v); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	h := &Host{Dirs: Dirs{StateDir: dir}}
	all, err := h.PolicyLog(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, v := range all {
		seen[v.Ref] = true
	}
	if len(seen) != writers*each {
		t.Errorf("%d verdicts were kept of %d", len(seen), writers*each)
	}
	if last, err := h.PolicyLog(t.Context(), 3); err != nil || len(last) != 3 || last[2].Ref != all[len(all)-1].Ref {
		t.Errorf("the last 3: %v, %v", last, err)
	}
}

func TestVerdictsAreBounded(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, verdictFile)
	torn := `{"verb":"execute","ref":"tool:a/torn","verd`
	if err := os.WriteFile(path, []byte(strings.Repeat(" ", verdictBytes)+"\n"+torn), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := appendVerdict(dir, rye.Verdict{Verb: "execute", Ref: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if st, err := os.Stat(path); err != nil || st.Size() > 1<<10 {
		t.Errorf("the file did not begin anew: %v", err)
	}
	all, err := (&Host{Dirs: Dirs{StateDir: dir}}).PolicyLog(t.Context(), 0)
	if err != nil || len(all) != 3 {
		t.Errorf("PolicyLog = %v, %v; want the three whole ones", all, err)
	}
}

// TestVerdictsBehindALongLine: a line that is too long hides none behind it.
func TestVerdictsBehindALongLine(t *testing.T) {
	dir := t.TempDir()
	for _, v := range []rye.Verdict{{Verb: "execute", Ref: "first"}, {Verb: "execute", Ref: strings.Repeat("x", 2*maxVerdict)}, {Verb: "execute", Ref: "last"}} {
		if err := appendVerdict(dir, v); err != nil {
			t.Fatal(err)
		}
	}
	all, err := (&Host{Dirs: Dirs{StateDir: dir}}).PolicyLog(t.Context(), 0)
	if err != nil || len(all) != 2 || all[1].Ref != "last" {
		t.Errorf("PolicyLog = %d verdicts, %v; want the first and the last", len(all), err)
	}
}

// TestHostsInTheLog: the longest report of a run is in lines that are read again.
func TestHostsInTheLog(t *testing.T) {
	dir := t.TempDir()
	h := &Host{Dirs: Dirs{StateDir: dir}, Now: time.Now}
	hosts := make([]rye.HostUse, 100)
	for i := range hosts {
		hosts[i] = rye.HostUse{Host: strings.Repeat("h", 250) + fmt.Sprintf("%03d", i), Port: 65535, Conns: 1 << 40, Sent: 1 << 60, Received: 1 << 60}
	}
	v := rye.Verdict{Verb: "execute", Ref: "tool:acme/far", Verdict: "allow", Rule: "primitive", Findings: []string{"x"}, Project: strings.Repeat("p", 4096)}
	(&Session{Host: h}).RecordHosts(&v, hosts)
	all, err := h.PolicyLog(t.Context(), 0)
	if err != nil || len(all) != 4 || v.Hosts != nil {
		t.Fatalf("PolicyLog = %d lines, %v; want 4", len(all), err)
	}
	var got []rye.HostUse
	for _, one := range all {
		got = append(got, one.Hosts...)
		if one.Verb != "reach" || one.Ref != v.Ref || one.Rule != v.Rule || one.Findings != nil {
			t.Errorf("a line %+v", one)
		}
	}
	if !slices.Equal(got, hosts) {
		t.Errorf("read %d hosts, want the same %d", len(got), len(hosts))
	}
}

// A log that cannot be written stops nothing, and is said.
func TestVerdictsOnAReadOnlyDisk(t *testing.T) {
	if os.Geteuid() == 0 {
		if err := appendVerdict("/proc/nowhere", rye.Verdict{}); err == nil {
			t.Error("written below /proc")
		}
		return
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if err := appendVerdict(filepath.Join(dir, "state"), rye.Verdict{}); err == nil {
		t.Error("written into a directory that cannot be written")
	}
}
