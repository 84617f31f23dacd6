package session

import (
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/records"
)

// What Alone returns sees the project and the lock as they are now, and the session
// before it sees what it saw.
func TestAloneReadsAnew(t *testing.T) {
	h := &Host{ProjectDir: t.TempDir(), Dirs: Dirs{ConfigDir: t.TempDir(), CacheDir: t.TempDir()}, Records: records.Open(""), Now: time.Now}
	first := NewProject("acme", "")
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
	second := first.Edit()
	second.Namespace = "other"
	if err := second.Write(h.ProjectDir); err != nil {
		t.Fatal(err)
	}
	fresh, release, err := locked.Alone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if fresh.Project.Namespace != "other" || opened.Project.Namespace != "acme" {
		t.Errorf("namespaces %s, and before %s; want other and acme", fresh.Project.Namespace, opened.Project.Namespace)
	}
	if fresh.Lock != nil || fresh.Stack.Locked != nil || fresh.Stack.LockSum != (objects.Digest{}) {
		t.Error("the lock is gone, and the stack still resolves by it")
	}
	if locked.Lock == nil || locked.Stack.Locked == nil || locked.Stack.Genesis != first.Project || locked.Project.Project != first.Project {
		t.Error("Alone changed the session that it was asked of")
	}
}

// A directory that became another project has another record and other grants: nothing
// that was decided about the first is carried over.
func TestAloneRefusesAnotherProject(t *testing.T) {
	h := &Host{ProjectDir: t.TempDir(), Dirs: Dirs{ConfigDir: t.TempDir(), CacheDir: t.TempDir()}, Records: records.Open(""), Now: time.Now}
	if err := NewProject("acme", "").Write(h.ProjectDir); err != nil {
		t.Fatal(err)
	}
	s, err := h.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := NewProject("acme", "").Write(h.ProjectDir); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Alone(t.Context()); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("Alone in another project = %v, want a conflict", err)
	}
}
