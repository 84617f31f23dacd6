package session

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rye-os/rye"
)

// However much is lost, it can be asked about: what is to be done comes first, and where
// the rest is shown is said.
func TestRepairQuestionIsBounded(t *testing.T) {
	var all []rye.RefRepair
	for i := range 20 {
		r := rye.RefRepair{Place: "project space", Ref: fmt.Sprintf("refs/heads/threads/%d", i), To: strings.Repeat("a", 40), Why: "gone"}
		for range 100 {
			r.Lost = append(r.Lost, rye.LostMove{Commit: strings.Repeat("b", 40), Why: strings.Repeat("long ", 200)})
		}
		all = append(all, r)
	}
	q := repairQuestion(all)
	if err := q.Check(); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(q.Lines, "\n")
	if n := strings.Count(text, "goes back to"); n != len(all) || !strings.Contains(q.Lines[len(q.Lines)-1], "1980 more lines, which rye fsck --repair --dry-run shows") {
		t.Errorf("%d of %d repairs are shown:\n%s", n, len(all), text)
	}
}
