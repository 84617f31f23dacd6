//go:build unix

package workspace_test

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
)

// TestVendoredPipes: a pipe in the place of a file, a log or a folder is refused, and nobody waits
// for its other end.
func TestVendoredPipes(t *testing.T) {
	waits := time.AfterFunc(2*time.Minute, func() { panic("something waits for a pipe") })
	defer waits.Stop()
	_, bob, _ := vendored(t)
	p := bob.clones(t)
	pipe := func(path string) {
		t.Helper()
		testkit.Must(t, os.RemoveAll(path))
		testkit.Must(t, syscall.Mkfifo(path, 0o644))
		if _, err := p.Locks().Verify(t.Context(), rye.Terminal()); err == nil {
			t.Errorf("lock verify does not see that %s is a pipe", path)
		}
	}
	again := func() {
		t.Helper()
		testkit.CopyDir(t, bob.path("vendor"), p.path("vendor"))
	}
	pipe(p.log("main"))
	wantCode(t, "pull with a pipe as a log", p.pull(), fault.Malformed)
	again()
	testkit.Must(t, p.pull())
	pipe(p.path(vendoredGreet))
	wantCode(t, "run with a pipe as an item", p.runLocked(greetRef), fault.Malformed)
	again()
	pipe(p.path("vendor/items"))
	wantCode(t, "run with a pipe as a folder", p.runLocked(greetRef), fault.Offline)
	again()
	pipe(p.path("vendor"))
	wantCode(t, "pull with a pipe as .ai/vendor", p.pull(), fault.Malformed)
}
