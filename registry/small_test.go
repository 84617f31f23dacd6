package registry

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/internal/githost"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/registry/oplog"
)

// mostObjects bounds the objects that a host gets with one more item of a namespace: a host writes
// a file for each, and that is most of a small push.
//
// Version: a file, the trees above it and a commit. State: root list, list, shard, keys and change
// list, three trees and a commit. Then the operation, and the merge that keeps all.
const mostObjects = 2 + 3 + 5 + 4 + 2

// TestObjectsOfOnePublication: one item costs no more objects than it needs, also where others
// published meanwhile, and the branch of the content shows a README.
func TestObjectsOfOnePublication(t *testing.T) {
	w := newWorld(t, oplog.ClaimsOpen)
	ada, again := w.machine(t), w.machine(t)
	w.publish(ada, w.ada, "acme/knowledge/first@1.0.0")
	count := func() int {
		return len(strings.Fields(testkit.Git(t, w.dir, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)", "--unordered")))
	}
	for _, step := range []struct {
		by   *machine
		name string
	}{{ada, "second"}, {again, "third"}, {ada, "fourth"}} {
		before := count()
		w.publish(step.by, w.ada, "acme/knowledge/"+step.name+"@1.0.0")
		if got := count() - before; got < mostObjects-2 || got > mostObjects { // a shard or a list may be the first
			t.Errorf("%s: %d objects, want at most %d", step.name, got, mostObjects)
		}
	}
	if got := testkit.Git(t, w.dir, "show", contentPrefix+"acme:"+readmeName); !strings.Contains(got, "`git log ns/acme`") {
		t.Errorf("README = %q", got)
	}
}

// TestRefusedPublicationMovesNoMemory: the memory is written while the host looks at a push. If the
// host refuses it, the memory stays, and no file remains.
func TestRefusedPublicationMovesNoMemory(t *testing.T) {
	w := newWorld(t, oplog.ClaimsOpen)
	closed := false
	host := httptest.NewServer(&githost.Server{Root: filepath.Dir(w.dir), AllowPush: true, Authorize: func(r *http.Request, _ string, push bool) bool {
		return !closed || !push || r.Method != http.MethodPost
	}})
	defer host.Close()
	o := w.options(t)
	o.URL = host.URL + "/reg.git"
	ada := w.open(t, o)
	w.publish(ada, w.ada, "acme/knowledge/first@1.0.0")
	before := stateFiles(t, ada.o.StateDir)
	closed = true
	if got, err := ada.Publish(w.ctx, publication(t, w.ada, "acme/knowledge/second@1.0.0")); err == nil {
		t.Fatalf("published although the host refuses: %+v", got)
	}
	if after := stateFiles(t, ada.o.StateDir); after != before {
		t.Errorf("the state directory changed:\n%s\nwas\n%s", after, before)
	}
}

// stateFiles returns the names and contents of all files below dir but locks.
func stateFiles(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".lock") {
			return err
		}
		raw, err := os.ReadFile(path)
		b.WriteString(path + "\n" + string(raw))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
