//go:build unix

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/registry/registrytest"
	"github.com/rye-os/rye/store"
)

// A lie is one that only position and memory can tell: every signature in it is good.
type lie struct {
	name  string
	stage [2]string                   // without and with a checkpoint
	tell  func(t *testing.T, s *side) // to what the stage is
	later func(s *side, m *machine)   // what happens before the second command, if anything does
	want  [2][3]string                // without and with, by reader
}

// A reader remembers, or has a lock only, as a fresh checkout on a build machine, or has
// neither. What is noticed is written as which rye fetch ends with which status; "not" is
// never, as long as the host keeps telling it.
var lies = []lie{
	{
		name: "rollback: an older log", stage: [2]string{"three", "vouched"},
		tell: func(t *testing.T, s *side) {
			h := registrytest.Open(t, s.dir)
			h.Set(logRef, h.Commit(h.At(logRef)).Parents[0])
		},
		want: [2][3]string{{"1st: 13", "1st: 18", "not"}, {"1st: 13", "1st: 13", "1st: 13"}},
	},
	{
		name: "rollback of log and root together, to before the checkpoint", stage: [2]string{"", "vouched"},
		tell: func(t *testing.T, s *side) {
			h := registrytest.Open(t, s.dir)
			h.Set(logRef, h.Commit(h.At(logRef)).Parents[0])
			h.Set(rootRef, h.Commit(h.At(rootRef)).Parents[0])
		},
		want: [2][3]string{1: {"1st: 13", "1st: 18", "not"}},
	},
	{
		name: "freeze: nothing newer is shown", stage: [2]string{"three", "overdue"},
		tell: func(*testing.T, *side) {},
		want: [2][3]string{{"not", "not", "not"}, {"1st: 14", "1st: 14", "1st: 14"}},
	},
	{
		name: "fork: another history than was shown", stage: [2]string{"three", "vouched"}, tell: sibling,
		want: [2][3]string{{"1st: 15", "1st: 10", "not"}, {"1st: 15", "1st: 15", "1st: 15"}},
	},
	{
		name: "equivocation: another history than others are shown", stage: [2]string{"four", "vouched4"}, tell: sibling,
		later: func(s *side, m *machine) { m.write(".ai/rye.lock", s.mates) },
		want:  [2][3]string{{"first with a teammate's lock: 10", "first with a teammate's lock: 10", "first with a teammate's lock: 10"}, {"1st: 15", "1st: 15", "1st: 15"}},
	},
}

// sibling lets the log end in another operation of its owner at the same position.
func sibling(t *testing.T, s *side) {
	registrytest.Open(t, s.dir).Forge(logRef, registrytest.By(t, s.key), func(c *store.Commit) {
		c.Author.Unix++
		c.Committer.Unix++
	})
}

// noticed measures after which command, and by which status, each reader notices each lie, and
// compares that with docs/security.md.
func (s *side) noticed(t *testing.T) {
	outer := s.t
	defer func() { s.t = outer }()
	s.t, s.bob.t = t, t
	s.serve("four")
	s.bob.rye("add", "acme/knowledge/c", "--yes")
	s.mates = s.bob.read(".ai/rye.lock")
	s.bob.restore()
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lies {
		for with, stage := range l.stage {
			if stage == "" {
				continue
			}
			var cells [3]string
			for i, m := range []*machine{s.bob, s.carol, s.dave} {
				m.t = t
				s.serve(stage)
				l.tell(t, s)
				cells[i] = s.notices(l, m)
				if cells[i] != l.want[with][i] {
					t.Errorf("%s, at %s, reader %d: noticed %s, want %s", l.name, stage, i, cells[i], l.want[with][i])
				}
			}
			row := fmt.Sprintf("| %s | %s | %s |", l.name, [2]string{"without", "with"}[with], strings.Join(cells[:], " | "))
			t.Log(row)
			if !strings.Contains(string(doc), row+"\n") {
				t.Errorf("docs/security.md does not say\n%s", row)
			}
		}
	}
}

// notices returns after which command a reader notices, and how.
func (s *side) notices(l lie, m *machine) string {
	defer m.restore()
	m.write(".ai/policy.yaml", "policy: 1\nstale: refuse\n")
	out, exit := m.status("fetch")
	if exit != 0 {
		return fmt.Sprintf("1st: %d", exit)
	}
	if m == s.dave && !strings.Contains(out, "first contact") {
		s.t.Errorf("%s: a first contact does not say whom it believes:\n%s", l.name, out)
	}
	if soak {
		if _, exit = m.status("fetch"); exit != 0 {
			return fmt.Sprintf("2nd: %d", exit)
		}
	}
	if l.later == nil {
		return "not"
	}
	l.later(s, m)
	_, exit = m.status("fetch")
	return fmt.Sprintf("first with a teammate's lock: %d", exit)
}
