//go:build unix

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAttacksOnTheWire plays every attack on a registry that is about what a host sends, against
// the real program, by path and by git's own servers: each ends with the status that it should,
// and a refusal leaves project and home as they were, byte for byte.
func TestAttacksOnTheWire(t *testing.T) {
	t.Parallel()
	a := newSiege(t)
	a.changes()
	for _, s := range a.sides(t) {
		t.Run(s.how, func(t *testing.T) {
			t.Parallel()
			s.t = t
			s.people()
			s.besiege(t)
		})
	}
}

// most is how many attacks of one number a side gets, git daemon of those on the log only; all
// of them where there is time.
var most = map[string]int{"path": 2, "http-backend": 1, "git daemon": 1}

// besiege plays what belongs to a side.
func (s *side) besiege(t *testing.T) {
	had := map[int]int{}
	for _, row := range wireAttacks() {
		if had[row.n]++; !soak && !row.since && (had[row.n] > most[s.how] || s.how == "git daemon" && row.holds) {
			continue
		}
		t.Run(fmt.Sprintf("%02d %s", row.n, row.what), func(t *testing.T) { s.meets(t, row) })
	}
	switch s.how {
	case "path":
		t.Run("time to detection", s.noticed)
	case "http-backend":
		for _, d := range deeds {
			t.Run(fmt.Sprintf("%02d %s", d.n, d.what), func(t *testing.T) { s.suffers(t, d) })
		}
	}
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

// suffers carries out a deed.
func (s *side) suffers(t *testing.T, d deed) {
	outer := s.t
	defer func() { s.t = outer }()
	s.t, s.bob.t, s.dave.t = t, t, t
	defer s.bob.restore()
	defer s.dave.restore()
	d.do(t, s)
}

// elsewhere are attacks that another test carries out through the program.
var elsewhere = map[int]string{
	4: "TestAttack04LineMoved", 7: "TestAttack07LineOfRyeOS", 10: "TestAttack10OtherNamespace", 11: "TestAttack11ShortFingerprint",
	12: "TestAttack12OnlyWhatItMay", 13: "TestAttack13Confusable", 14: "bundle_attack14.txtar", 16: "TestAttack16NonCanonical",
	22: "TestAttack22SameKeyTwice", 34: "TestAttack34Bombs", 35: "TestAttack35ReplaceRefsGraftsAlternates", 46: "registry_members.txtar",
	73: "lock_verify.txtar", 81: "TestCloneBindsNothing", 84: "TestAttack84Kill", 85: "TestAttack85TwoProcesses",
	74: "min_age.txtar", 76: "update_transitive.txtar", 77: "update_consent.txtar", 86: "TestAttack86EditedFile", 88: "audit_project.txtar",
	89: "TestHostileRepositories",
}

// exempt are attacks that a fact of the layout makes void.
var exempt = map[int]string{
	30: "git hashes a head of its own before an object's bytes, and no two objects that collide so are known; the blocks " +
		"that are known are refused by TestAttack30CollidingBlocks of store",
}

// TestEveryAttack: each of the 89 has its test through the program, or a reason.
func TestEveryAttack(t *testing.T) {
	t.Parallel()
	real, through := map[int]bool{}, map[int]bool{}
	for _, row := range wireAttacks() {
		real[row.n], through[row.n] = true, true
	}
	for _, d := range deeds {
		real[d.n] = real[d.n] || d.real
		through[d.n] = true
	}
	for n, name := range elsewhere {
		through[n] = true
		if !isThere(t, name) {
			t.Errorf("attack %d: there is no %s", n, name)
		}
	}
	for n := 1; n <= 89; n++ {
		_, void := exempt[n]
		if void == through[n] {
			t.Errorf("attack %d: want a test or a reason, and not both", n)
		}
	}
	wire := 0
	for _, is := range real {
		if is {
			wire++
		}
	}
	if wire < 40 || len(through)+len(exempt) != 89 {
		t.Errorf("%d against real servers, want 40; %d in all, want 89", wire, len(through)+len(exempt))
	}
	t.Logf("through the program %d, of them against git's own servers %d; exempt %d", len(through), wire, len(exempt))
}

// isThere says whether a script or a test of this package is there, which runs the program.
func isThere(t *testing.T, name string) bool {
	t.Helper()
	if strings.HasSuffix(name, ".txtar") {
		raw, err := os.ReadFile(filepath.Join("testdata", "script", name))
		return err == nil && strings.Contains(string(raw), "rye ")
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), "\nfunc "+name+"(t *testing.T) {") {
			return true
		}
	}
	return false
}
