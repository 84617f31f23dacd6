//go:build unix

package main_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// met notes which attacks were met on which side.
type met struct {
	mu  sync.Mutex
	how map[int]map[string]bool
}

func (m *met) note(n int, how string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.how[n] == nil {
		m.how[n] = map[string]bool{}
	}
	m.how[n][how] = true
}

// TestAttacksOnTheWire plays every attack on a registry that is about what a host sends, against
// the real program, by path and by git's own servers: each ends with the status that it should,
// and a refusal leaves project and home as they were, byte for byte.
func TestAttacksOnTheWire(t *testing.T) {
	seen := &met{how: map[int]map[string]bool{}}
	t.Run("sides", func(t *testing.T) {
		a := newSiege(t)
		a.changes()
		for _, s := range a.sides(t) {
			t.Run(s.how, func(t *testing.T) {
				t.Parallel()
				s.t = t
				s.people()
				first := map[int]bool{}
				for _, row := range wireAttacks() {
					if first[row.n] && s.how != "path" && !soak {
						continue // a server gets one of each number, and all of them where there is time
					}
					first[row.n] = true
					t.Run(fmt.Sprintf("%02d %s", row.n, row.what), func(t *testing.T) {
						s.meets(t, row)
						seen.note(row.n, s.how)
					})
				}
			})
		}
	})
	real := 0
	for _, how := range seen.how {
		if how["http-backend"] && how["git daemon"] {
			real++
		}
	}
	t.Logf("%d attacks through the program, %d of them against http-backend and git daemon", len(seen.how), real)
}

// meets lets the reader of a row meet its attack.
func (s *side) meets(t *testing.T, row wireAttack) {
	outer := s.t
	defer func() { s.t = outer }()
	s.t = t
	stage := row.stage
	if stage == "" {
		stage = "four"
	}
	m := s.bob
	if row.who != nil {
		m = row.who(s)
	}
	m.t = t
	defer m.restore()
	h := s.serve(stage)
	if row.play != nil {
		row.play(s, h)
	}
	run := row.run
	if run == "" {
		run = "fetch"
	}
	before := m.files()
	out, exit := m.status(strings.Fields(run)...)
	want := row.exit
	if s.how == "path" && want == 19 && strings.Contains(out, ": remote: ") {
		want = exit // by path the host is rye itself, and will not read it either
	}
	if exit == 0 && row.exit != 0 || exit != want || !strings.Contains(out, row.says) {
		t.Errorf("rye %s: status %d, want %d and %q\n%s", run, exit, row.exit, row.says, out)
	}
	if strings.Contains(out, "goroutine ") {
		t.Errorf("rye %s: %s", run, out)
	}
	if exit != 0 {
		for _, path := range m.changed(before) {
			if !row.holds || !remembers(path) && !(row.learns && path == m.trustPath()) {
				t.Errorf("refusing changed %s", strings.TrimPrefix(path, m.top()))
			}
		}
	}
	if row.then != nil {
		row.then(s, m)
	}
}

// remembers says whether a file holds how far a log was verified, or names cached content.
func remembers(path string) bool {
	return strings.Contains(path, "/.local/state/rye/registries/") || strings.Contains(path, "/.cache/rye/registries/")
}
