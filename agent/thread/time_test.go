//go:build unix

package thread

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/journal"
)

// limitedTo has the directive of a site state a limit of running time.
func (c crashSite) limitedTo(t *testing.T, seconds string) {
	t.Helper()
	c.rewrite(t, `spend="0.9"`, `spend="0.9" duration_seconds="`+seconds+`"`)
}

// ranIn lists the running times that the records of a thread have, in their order.
func (c crashSite) ranIn(t *testing.T, id string) (all []time.Duration) {
	t.Helper()
	for _, r := range crashRecords(t, c.threadDir(t, id)) {
		ms := int64(-1)
		switch r.Type {
		case "turn_done":
			ms = crashMember[turnDetail](t, r, "detail").RunningMS
		case journal.Suspended:
			ms = crashMember[int64](t, r, "running_ms")
		case journal.Completed:
			ms = crashMember[struct {
				Elapsed int64 `json:"elapsed_ms"`
			}](t, r, "cost").Elapsed
		}
		if ms >= 0 {
			all = append(all, time.Duration(ms)*time.Millisecond)
		}
	}
	return all
}

// slowScript are eight answers of a model.
var slowScript = func() string {
	b := askScript[:strings.Index(askScript, "      - calls:")]
	for i := range 7 {
		b += fmt.Sprintf("      - calls: [{name: rye_search, args: {query: \"word%d\", scope: \"tool.acme.*\"}}]\n", i)
	}
	return b + "      - calls: [{name: directive_return, args: {verdict: \"good\"}}]\n"
}()

// Each turn counts once, whatever it took: eight turns of a second are eight seconds.
func TestRunningTimeCountsOnce(t *testing.T) {
	const s = time.Second
	c := newCrashSite(t, slowScript)
	c.limitedTo(t, "9")
	c.Takes = s
	i := c.run(t)
	if want := []time.Duration{0, s, 2 * s, 3 * s, 4 * s, 5 * s, 6 * s, 7 * s, 8 * s, 8 * s}; i.Status != Completed || !slices.Equal(c.ranIn(t, i.ID), want) {
		t.Errorf("eight turns of a second within 9: %s, %s; running %v, want %v", i.Status, i.Why, c.ranIn(t, i.ID), want)
	}
}

// A turn that a limit, or an end of waiting, interrupts counts as far as it went, and a person's
// silence does not count.
func TestInterruptedTurnCounts(t *testing.T) {
	const s = time.Second
	t.Run("limit", func(t *testing.T) {
		c := newCrashSite(t, slowScript)
		c.limitedTo(t, "5")
		c.Takes = 2 * s
		i := c.run(t)
		if want := []time.Duration{0, 2 * s, 4 * s, 6 * s, 6 * s}; i.Status != Suspended || !slices.Equal(c.ranIn(t, i.ID), want) {
			t.Fatalf("turns of two seconds within 5: %s, %s; running %v, want %v", i.Status, i.Why, c.ranIn(t, i.ID), want)
		}
		err := New(c.options(c.workspace())).Send(t.Context(), rye.Terminal(), rye.SendRequest{ID: i.ID, Kind: journal.KindRaise, Limits: rye.ThreadLimits{Duration: 12}})
		if err != nil {
			t.Fatal(err)
		}
		i, err = c.resume(t, rye.ResumeRequest{ID: i.ID})
		if want := []time.Duration{0, 2 * s, 4 * s, 6 * s, 6 * s, 8 * s, 10 * s, 12 * s, 14 * s, 16 * s, 16 * s}; err != nil || i.Status != Completed || !slices.Equal(c.ranIn(t, i.ID), want) {
			t.Errorf("with twelve more: %v, %+v; running %v, want %v", err, i, c.ranIn(t, i.ID), want)
		}
	})
	t.Run("waiting", func(t *testing.T) {
		c := newCrashSite(t, askScript)
		c.limitedTo(t, "60")
		c.Takes = s
		i := c.run(t)
		if want := []time.Duration{0, s, s}; i.Status != Suspended || i.Question == "" || !slices.Equal(c.ranIn(t, i.ID), want) {
			t.Fatalf("where nobody answers: %s, %s; running %v, want %v", i.Status, i.Why, c.ranIn(t, i.ID), want)
		}
		c.sayYes(t, c.workspace())
		i, err := c.resume(t, rye.ResumeRequest{ID: i.ID})
		if want := []time.Duration{0, s, s, 2 * s, 2 * s}; err != nil || i.Status != Completed || !slices.Equal(c.ranIn(t, i.ID), want) {
			t.Errorf("after the answer: %v, %+v; running %v, want %v", err, i, c.ranIn(t, i.ID), want)
		}
	})
	t.Run("no key", func(t *testing.T) { // the end of a process in a turn that no record ends
		c := newCrashSite(t, strings.Replace(slowScript, "      - calls: [{name: directive_return", "      - {error: {status: 401}, times: 1}\n      - calls: [{name: directive_return", 1))
		c.Takes = s
		i := c.run(t)
		all := c.ranIn(t, i.ID)
		if n := len(all); i.Status != Suspended || all[n-1] != all[n-2]+s {
			t.Errorf("%s, %s; running %v, want a second more in the last", i.Status, i.Why, all)
		}
	})
}
