//go:build unix

package main_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// documented returns the cells of the table below a heading of docs/security.md, by the first
// cell of their row and the title of their column, and fails for a row that is there twice.
func documented(t *testing.T, heading string) map[[2]string]string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(raw), "\n"+heading+"\n")
	if !ok {
		t.Fatalf("docs/security.md has no heading %q", heading)
	}
	cells := map[[2]string]string{}
	var columns []string
	for line := range strings.Lines(text) {
		row, ok := strings.CutPrefix(line, "| ")
		switch row = strings.TrimSuffix(strings.TrimSpace(row), "|"); {
		case !ok && (columns == nil && !strings.HasPrefix(line, "#") || strings.HasPrefix(line, "|---")):
			continue
		case !ok:
			return cells
		}
		fields := strings.Split(row, "|")
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		if columns == nil {
			columns = fields
			continue
		}
		if len(fields) != len(columns) {
			t.Fatalf("docs/security.md, %s: %d cells, want %d: %s", heading, len(fields), len(columns), line)
		}
		for i, cell := range fields[1:] {
			at := [2]string{fields[0], columns[i+1]}
			if _, twice := cells[at]; twice {
				t.Errorf("docs/security.md, %s: %q is there twice", heading, at)
			}
			cells[at] = cell
		}
	}
	return cells
}

// compare demands that a documented table has the cells that were measured, and no others.
func compare(t *testing.T, heading string, measured map[[2]string]string) {
	t.Helper()
	cells := documented(t, heading)
	for at, want := range cells {
		if got, ok := measured[at]; !ok {
			t.Errorf("%s, %q: no scenario", heading, at)
		} else if got != want {
			t.Errorf("%s, %q: measured %q, the page has %q", heading, at, got, want)
		}
	}
	for at, got := range measured {
		if _, ok := cells[at]; !ok {
			t.Errorf("%s, %q: no cell for %q", heading, at, got)
		}
	}
}

// shown is how a command ended: the command in short, its exit status, and the first line of
// what it reported.
type shown struct {
	command string
	exit    int
	line    string
	asks    bool // a person has to agree
}

// shows runs a command, and returns how it ended.
func (h *home) shows(args ...string) shown {
	h.t.Helper()
	s, _ := h.prints(args...)
	return s
}

// prints runs a command, and returns how it ended and its results.
func (h *home) prints(args ...string) (shown, string) {
	h.t.Helper()
	cmd := h.command(args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if cmd.ProcessState == nil {
		h.t.Fatalf("rye %s: %v", strings.Join(args, " "), err)
	}
	name := args[0]
	if slices.Contains(args, "--undo") {
		name += " --undo"
	}
	s := shown{command: "rye " + name, exit: cmd.ProcessState.ExitCode(), asks: strings.Contains(stderr.String(), "needs consent")}
	for line := range strings.Lines(stderr.String()) {
		if rest, ok := strings.CutPrefix(line, "rye: "); ok && s.line == "" {
			s.line = strings.TrimSuffix(rest, "\n")
		}
	}
	return s, string(out)
}

// waiting are readers of one version that is revoked: bob, who locked it in a project with a
// second clone and a linked worktree, and dave, who knows the address of its registry.
type waiting struct {
	t      *testing.T
	origin string
	nobody string // an address where nobody listens
	mate   *mate
	bob    *machine
	dave   *machine
}

const revokedRef, revokedName = "knowledge:acme/a", "acme/knowledge/a@1.0.0"

func newWaiting(t *testing.T) *waiting {
	t.Helper()
	alice, mate, dave := newHome(t), newMate(t, "bob", ""), newReader(t)
	w := &waiting{t: t, origin: filepath.Join(filepath.Dir(alice.dir), "origin.git"), nobody: unheard(t) + "/origin.git",
		mate: mate, bob: &machine{home: mate.home}, dave: dave}
	alice.publishable("a", 0)
	for _, h := range []*home{alice, w.bob.home, w.dave.home} { // a read-only directory binds nobody with root's rights
		must(t, os.MkdirAll(h.stateDir(), 0o755))
		h.ordinary()
	}
	alice.rye("trust", "--yes")
	alice.rye("registry", "init", w.origin, "--name", "main", "--yes")
	alice.rye("push", revokedRef, "--yes")

	w.bob.rye("init", "--namespace", "local")
	w.bob.rye("registry", "add", w.origin, "--scope", "acme", "--yes")
	w.bob.rye("add", "acme/knowledge/a", "--yes")
	mate.git("add", "--all")
	mate.git("commit", "--quiet", "-m", "locked")
	mate.git("clone", "--quiet", w.bob.dir, w.in("second").dir)
	mate.git("worktree", "add", "--quiet", w.in("linked").dir)
	for _, dir := range []string{"second", "linked"} {
		h := w.in(dir)
		h.rye("trust", "--accept", statement(h))
		h.rye("pull")
	}
	w.bob.save()
	w.dave.rye("trust", "--yes")
	w.dave.rye("registry", "add", w.origin, "--scope", "acme", "--yes")
	w.dave.save()
	alice.rye("revoke", revokedName, "--reason", "steals", "--yes")
	return w
}

// in returns bob in one of his directories.
func (w *waiting) in(dir string) *home {
	h := *w.bob.home
	h.t, h.dir = w.t, filepath.Join(w.bob.top(), dir)
	return &h
}

// stateDir is where the person's rye remembers registries.
func (h *home) stateDir() string { return filepath.Join(h.variable("HOME"), ".local", "state") }

// unheard is an address of this machine where nobody listens.
func unheard(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

// A waitingReader is a row of the table: on which machine it is, what brings it up to date, and
// what uses the version.
type waitingReader struct {
	name  string
	begin func(w *waiting) (m *machine, fetch, use func() shown)
}

// executing uses the version by rye run in a directory of bob's.
func executing(dir string, flags ...string) func(w *waiting) (m *machine, fetch, use func() shown) {
	return func(w *waiting) (m *machine, fetch, use func() shown) {
		return w.bob, func() shown { return w.in("work").shows(append([]string{"fetch"}, flags...)...) },
			func() shown { return w.in(dir).shows(append([]string{"run", revokedRef}, flags...)...) }
	}
}

// waitingServer lets a client of a running server use the version.
func waitingServer(w *waiting) (s *mcp.ClientSession, use func() shown) {
	s, _ = w.in("work").connect(nil)
	use = func() shown { return w.calls(s, map[string]any{"item_type": "knowledge", "item_id": "acme/a"}) }
	if first := use(); first.exit != 0 {
		w.t.Errorf("before anybody asked: %v", first)
	}
	return s, use
}

var waitingReaders = []waitingReader{
	{"with a lock", executing("work")},
	{"second clone; the first fetches", executing("second")},
	{"linked worktree; the main one fetches", executing("linked")},
	{"MCP client; a person fetches while the server runs", func(w *waiting) (m *machine, fetch, use func() shown) {
		_, use = waitingServer(w)
		return w.bob, func() shown { return w.bob.shows("fetch") }, use
	}},
	{"MCP client; a call of its own asks the registry", func(w *waiting) (m *machine, fetch, use func() shown) {
		s, use := waitingServer(w)
		return w.bob, func() shown {
			return w.calls(s, map[string]any{"item_type": "tool", "item_id": "rye/registry/info", "parameters": map[string]any{"name": revokedName}})
		}, use
	}},
	{"with `--offline`, always", executing("work", "--offline")},
	{"fresh, who adds it", func(w *waiting) (m *machine, fetch, use func() shown) {
		return w.dave, func() shown { return w.dave.shows("fetch") }, func() shown { return w.dave.shows("add", revokedName, "--yes") }
	}},
}

// calls executes something as a client of a server does.
func (w *waiting) calls(s *mcp.ClientSession, args map[string]any) shown {
	w.t.Helper()
	got, failed := call(w.t, s, "execute", args)
	if !failed {
		return shown{}
	}
	code, _ := got["code"].(string)
	exit, ok := map[string]int{"revoked": 12, "network": 5, "failed": 1}[code]
	if !ok {
		w.t.Errorf("the client got %v", got)
	}
	line, _, _ := strings.Cut(got["message"].(string), "\n")
	return shown{command: "MCP execute", exit: exit, line: line}
}

// waitingStates are the columns: what happens before the reader uses the version.
var waitingStates = []struct {
	name string
	come func(w *waiting, m *machine, fetch func() shown) shown
}{
	{"before the next fetch", func(*waiting, *machine, func() shown) shown { return shown{} }},
	{"after `rye fetch`", func(_ *waiting, m *machine, fetch func() shown) shown { return fetch() }},
	{"host out of reach", func(w *waiting, m *machine, fetch func() shown) shown {
		m.moves(w.t, w.origin, w.nobody)
		return m.unchanged(fetch)
	}},
	{"fetched once, then host out of reach", func(w *waiting, m *machine, fetch func() shown) shown {
		m.rye("fetch")
		m.moves(w.t, w.origin, w.nobody)
		return m.unchanged(fetch)
	}},
	{"read-only state directory", func(_ *waiting, m *machine, fetch func() shown) shown {
		chmodDirs(m.t, m.stateDir(), 0o555)
		return m.unchanged(fetch)
	}},
}

// looks runs a command that may change no file of the machine but of its caches.
func (m *machine) looks(args ...string) shown {
	m.t.Helper()
	return m.unchanged(func() shown { return m.shows(args...) })
}

// unchanged demands that what is done changes no file of the machine but of its caches.
func (m *machine) unchanged(do func() shown) shown {
	m.t.Helper()
	before := m.files()
	s := do()
	cached := func(path string) bool {
		return strings.Contains(path, "/.cache/") || filepath.Base(path) == "verdicts.jsonl"
	}
	if list := slices.DeleteFunc(m.changed(before), cached); len(list) > 0 {
		m.t.Errorf("%s, status %d: changed %v", s.command, s.exit, list)
	}
	return s
}

// TestHowSoonRefused measures when each reader refuses a version that was revoked, and compares
// the table in docs/security.md, with the messages below it.
func TestHowSoonRefused(t *testing.T) {
	t.Parallel()
	w := newWaiting(t)
	cells, lines := map[[2]string]string{}, map[shown]bool{}
	for _, r := range waitingReaders {
		for _, s := range waitingStates {
			t.Run(r.name+"/"+s.name, func(t *testing.T) {
				w.t = t
				m, fetch, use := r.begin(w)
				m.t = t
				defer func() {
					chmodDirs(t, m.stateDir(), 0o755)
					m.restore()
					m.ordinary()
				}()
				come := s.come(w, m, fetch)
				var used shown
				if m == w.dave && s.name != "read-only state directory" {
					used = use() // adding learns what the log says, and whose the namespace is
				} else {
					used = m.unchanged(use)
				}
				lines[come], lines[used] = true, true
				cells[[2]string{r.name, s.name}] = cellOf(come, used)
				if s.name == "read-only state directory" {
					w.holds(m, use)
				}
			})
		}
	}
	compare(t, "### How soon each reader refuses", cells)
	compareLines(t, "The first lines of these messages:", lines)
}

// cellOf writes how a fetch and then a use ended.
func cellOf(come, used shown) string {
	cell := "runs"
	switch {
	case used.exit == 12:
		cell = "refuses (12)"
	case used.exit != 0:
		cell = fmt.Sprintf("fails (%d)", used.exit)
	}
	if come.exit != 0 {
		cell = fmt.Sprintf("`%s` fails (%d), %s", come.command, come.exit, cell)
	}
	return cell
}

// holds demands that a revocation which cannot be remembered holds in each command that reads
// it, and is asked for again.
func (w *waiting) holds(m *machine, use func() shown) {
	w.t.Helper()
	for _, args := range [][]string{{"add", revokedName, "--yes"}, {"update", "--yes"}, {"pull"}} {
		if m == w.dave && args[0] != "add" {
			continue // who has no dependency
		}
		if s := m.looks(args...); s.exit != 1 || !strings.Contains(s.line, "remember ") {
			w.t.Errorf("rye %s, which reads what it cannot remember: %v", strings.Join(args, " "), s)
		}
	}
	chmodDirs(w.t, m.stateDir(), 0o755)
	m.rye("fetch")
	if s := use(); s.exit != 12 {
		w.t.Errorf("after a fetch that remembers: %v", s)
	}
}

// compareLines demands that each of these first lines has its row in a documented table, and
// each row a line. In a row … stands for anything.
func compareLines(t *testing.T, heading string, lines map[shown]bool) {
	t.Helper()
	rows := documented(t, heading)
	used := map[[2]string]bool{}
	for s := range lines {
		if s.line == "" {
			continue
		}
		at := [2]string{fmt.Sprintf("`%s`, %d", s.command, s.exit), "first line"}
		used[at] = true
		if row := strings.Trim(rows[at], "`"); !fits(s.line, row) {
			t.Errorf("%s: %q, the page has %q", at[0], s.line, row)
		}
	}
	for at := range rows {
		if !used[at] {
			t.Errorf("docs/security.md has a message of %s, and no scenario shows it", at[0])
		}
	}
}

// fits reports whether a text has the parts of a pattern, in order and with nothing around them.
func fits(text, pattern string) bool {
	parts := strings.Split(pattern, "…")
	rest, ok := strings.CutPrefix(text, parts[0])
	for _, part := range parts[1:] {
		var found bool
		_, rest, found = strings.Cut(rest, part)
		ok = ok && found
	}
	return ok && pattern != "" && (rest == "" || strings.HasSuffix(pattern, "…"))
}
