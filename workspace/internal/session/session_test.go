package session

import (
	"strings"
	"testing"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/objects"
)

// What Alone returns sees the project and the lock as they are now, and the session
// before it sees what it saw.
func TestAloneReadsAnew(t *testing.T) {
	h := &Host{ProjectDir: t.TempDir(), ConfigDir: t.TempDir()}
	first := NewProject("acme")
	if err := first.Write(h.ProjectDir); err != nil {
		t.Fatal(err)
	}
	opened, err := h.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	ref := objects.Ref{Kind: objects.Tool, ID: "acme/hello"}
	locked := opened.WithLock(&chain.Lock{Items: map[objects.Ref]chain.Pin{ref: {From: "main", Commit: strings.Repeat("1", 40)}}}, objects.DigestOf(nil))
	if _, ok := locked.Stack.Locked(ref); !ok || opened.Stack.Locked != nil {
		t.Fatal("WithLock did not make a session that sees the lock beside one that does not")
	}
	second := NewProject("acme")
	if err := second.Write(h.ProjectDir); err != nil {
		t.Fatal(err)
	}
	fresh, release, err := locked.Alone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if fresh.Project.Project != second.Project || fresh.Stack.Genesis != second.Project {
		t.Errorf("project %s, stack of %s; want %s in both", fresh.Project.Project, fresh.Stack.Genesis, second.Project)
	}
	if fresh.Lock != nil || fresh.Stack.Locked != nil || fresh.Stack.LockSum != (objects.Digest{}) {
		t.Error("the lock is gone, and the stack still resolves by it")
	}
	if locked.Lock == nil || locked.Stack.Locked == nil || locked.Stack.Genesis != first.Project || locked.Project.Project != first.Project {
		t.Error("Alone changed the session that it was asked of")
	}
}
