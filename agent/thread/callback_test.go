package thread

import (
	"crypto/ed25519"
	"crypto/rand"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/trust/token"
)

// tethered is a tether of a thread with these capabilities, which another may have started.
func tethered(t *testing.T, parent string, caps ...string) *tether {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	d := &Description{ID: "01kdyak348041061050r3gg28a", Parent: parent, Key: publicText(key), Capabilities: caps}
	dir := filepath.Join(t.TempDir(), "records", "k1", "threads", d.ID)
	now := time.Now().UTC().Truncate(time.Second)
	g, err := token.Mint(key, token.Block{ID: d.ID, Thread: d.ID, Project: nodeOf(dir), Audience: audience, NotBefore: now.Add(-time.Minute), Expires: now.Add(time.Hour), Do: caps, Delegate: caps}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &thread{o: &Options{Now: time.Now}, d: d, dir: dir, grant: g}
	return (&hands{p}).tether(call{ID: "c1"})
}

func toolRef(id string) rye.Ref { return refOf("tool:" + id) }

// TestGrantToATool: a tool of a thread is its thread to the policy, and never passes for it, nor
// for another; what it may ends with its run, and never after its thread's.
func TestGrantToATool(t *testing.T) {
	for _, parent := range []string{"", "01kdyak348041061050r3gg28b"} {
		x := tethered(t, parent, "rye.execute.tool.acme.*")
		until := time.Now().Add(time.Minute)
		g, err := x.Grant(toolRef("acme/a"), []string{"rye.execute.tool.acme.b", "rye.execute.tool.acme.c"}, until)
		if err != nil {
			t.Fatal(err)
		}
		c := g.Caller
		if c.Thread() != x.d.ID+"/tool:acme/a" || c.Parent() != parent || c.Name() != "thread" || c.IsPerson() || !slices.Equal(c.Capabilities(), []string{"rye.execute.tool.acme.b", "rye.execute.tool.acme.c"}) {
			t.Errorf("%s of %q: %v", c.Who(), c.Parent(), c.Capabilities())
		}
		if err := c.Check("execute", until.Add(-2*time.Second)); err != nil {
			t.Error(err)
		}
		if err := c.Check("execute", until.Add(time.Second)); !fault.Is(err, fault.Denied) {
			t.Errorf("after its run: %v", err)
		}
		if err := c.May("thread.start", time.Now()); !fault.Is(err, fault.Denied) {
			t.Errorf("it starts threads: %v", err)
		}
	}
	x := tethered(t, "", "rye.load.*")
	if g, err := x.Grant(toolRef("acme/a"), []string{"rye.load.*"}, time.Now().Add(24*time.Hour)); err != nil || g.Caller.Check("load", time.Now().Add(2*time.Hour)) == nil {
		t.Errorf("longer than its thread: %v", err)
	}
}

// TestGrantsOfALongChain: tools that call tools keep names of their own, however long.
func TestGrantsOfALongChain(t *testing.T) {
	x := tethered(t, "", "rye.execute.*")
	seen := map[string]bool{}
	for i := range 5 {
		g, err := x.Grant(toolRef("acme/"+strings.Repeat("long/", 15)+"name"), []string{"rye.execute.*"}, time.Time{})
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		whose := g.Caller.Thread()
		if seen[whose] || len(whose) > token.MaxName || !strings.HasPrefix(whose, x.d.ID+"/") {
			t.Errorf("%d is %s", i, whose)
		}
		seen[whose] = true
		x = &tether{thread: x.thread, call: x.call, held: x.held, whose: x.whose}
	}
}
