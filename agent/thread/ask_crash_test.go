//go:build unix

package thread

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye"
)

// What a hook asks a person waits across deaths, and leads on once after the yes.
func TestAskAcrossDeath(t *testing.T) {
	c := newCrashSite(t, strings.Replace(askScript, "acme/ask", "acme/once", 1))
	path := filepath.Join(c.Dir, ".ai", "directives", "acme", "review.md")
	asks := strings.Replace(crashDirective, "<outputs>", `<hooks><hook id="sure" event="after_complete"><action action="ask">is it good?</action></hook></hooks><outputs>`, 1)
	if err := os.WriteFile(path, []byte(asks), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := c.workspace().Sign(t.Context(), rye.Terminal(), rye.SignRequest{Targets: []rye.Target{"directive:acme/review"}}); err != nil {
		t.Fatal(err)
	}
	start := func(c crashSite) *rye.ThreadInfo {
		i, err := New(c.options(c.workspace())).Start(t.Context(), rye.Terminal(), rye.StartRequest{Ref: crashRef("directive:acme/review")})
		if err != nil {
			t.Fatal(err)
		}
		return c.finish(t, i.ID)
	}
	c.Log = filepath.Join(c.Home, "steps")
	i := start(*c)
	if i.Status != Completed {
		t.Fatalf("it is %s: %s", i.Status, i.Why)
	}
	want := c.export(t, i.ID)
	first, last := c.stepOf(t, "before approval_requested", 1), c.stepOf(t, "after approval_answered", 1)+2
	every := 3
	if os.Getenv("RYE_SOAK") == "1" {
		every = 1
	}
	for n := first; n <= last; n += every {
		dying := *c
		dying.Step, dying.Log = n, filepath.Join(t.TempDir(), "steps")
		i := start(dying)
		if i.Status != Interrupted {
			t.Fatalf("killed at step %d it is %s: %s", n, i.Status, i.Why)
		}
		dying.Step, dying.Log = 0, ""
		if _, err := New(dying.options(c.workspace())).Resume(t.Context(), rye.Terminal(), rye.ResumeRequest{ID: i.ID}); err != nil {
			t.Fatal(err)
		}
		if i = c.finish(t, i.ID); i.Status != Completed {
			t.Errorf("killed at step %d and resumed it is %s: %s", n, i.Status, i.Why)
		}
		if got := c.export(t, i.ID); got != want {
			t.Errorf("killed at step %d it did\n%s\nwant\n%s", n, got, want)
		}
		c.checkEnded(t, i)
	}
}
