package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// note writes an item of knowledge that says text.
func (h *home) note(id, text string) {
	h.write(".ai/knowledge/"+id+".md", "---\nid: "+id[strings.LastIndexByte(id, '/')+1:]+"\ntitle: Note\nversion: 1.0.0\nentry_type: reference\ncategory: acme\n---\n\n"+text+"\n")
}

type searchHit struct {
	Ref    string
	Score  float64
	Guess  bool
	Partly bool
	Lines  []struct {
		Line int
		Text string
	}
}

// searched runs rye search and returns its hits.
func (h *home) searched(args ...string) (hits []searchHit) {
	h.t.Helper()
	for d := json.NewDecoder(strings.NewReader(h.rye(append([]string{"search", "--json"}, args...)...))); d.More(); {
		var hit searchHit
		if err := d.Decode(&hit); err != nil {
			h.t.Fatal(err)
		}
		hits = append(hits, hit)
	}
	return hits
}

// said runs rye search and returns what it says beside its hits.
func (h *home) said(args ...string) string {
	h.t.Helper()
	cmd := h.command(append([]string{"search"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		h.t.Fatalf("rye search %q: %v\n%s", args, err, stderr.String())
	}
	return stderr.String()
}

// brief is hits as text, to compare them.
func brief(hits []searchHit) string {
	var b strings.Builder
	for _, h := range hits {
		fmt.Fprintf(&b, "%s %.6f %v\n", h.Ref, h.Score, h.Lines)
	}
	return b.String()
}

func (h *home) indexes(ext string) (files []string) {
	files, _ = filepath.Glob(filepath.Join(strings.TrimSpace(h.rye("where", "cache")), "search", "*", "*"+ext))
	return files
}

// A thousand items that have a word anywhere are a thousand hits, for a person and for a model,
// and each is told with its line.
func TestSearchFindsEveryItem(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	rng := rand.New(rand.NewPCG(7, 7))
	for i := range 1000 {
		lines := make([]string, 40)
		for j := range lines {
			lines[j] = fmt.Sprintf("line %d of words that say little %d", j, rng.IntN(1000))
		}
		lines[rng.IntN(40)] += " Anemometer!"
		h.note(fmt.Sprintf("acme/g%d/n%d", i%7, i), strings.Join(lines, "\n"))
	}
	said := h.said("anemometer", "--limit", "1000", "--space", "project")
	hits := h.searched("anemometer", "--limit", "1000", "--space", "project")
	refs := map[string]bool{}
	for _, hit := range hits {
		refs[hit.Ref] = true
		if len(hit.Lines) != 1 || !strings.Contains(hit.Lines[0].Text, "Anemometer") || hit.Guess {
			t.Errorf("%s is told as %+v", hit.Ref, hit)
		}
	}
	if len(refs) != 1000 || !strings.Contains(said, "1000 of 1000 found") {
		t.Errorf("%d items are found; it says %s", len(refs), said)
	}
	s, _ := h.connect(nil)
	got, _ := call(t, s, "search", map[string]any{"query": "anemometer", "limit": 1000, "space": "project", "detail": true})
	results, _ := got["results"].([]any)
	if len(results) != 1000 || fmt.Sprint(got["total"]) != "1000" {
		t.Fatalf("a model is told %d of %v", len(results), got["total"])
	}
	for i, r := range results {
		r := r.(map[string]any)
		if ref := fmt.Sprintf("%v:%v", r["type"], r["id"]); ref != hits[i].Ref || r["detail"].(map[string]any)["score"] != hits[i].Score {
			t.Fatalf("hit %d is %s %v for a model and %+v for a person", i, ref, r["detail"], hits[i])
		}
	}
}

// What is found, and its score, do not depend on where terms come from: an index, several, what
// changed since, or nothing but the files.
func TestSearchIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for i := range 40 {
		h.note(fmt.Sprintf("acme/n%02d", i), fmt.Sprintf("The gate %s of reservoir number%d. %s", strings.Repeat("opens ", i%5), i, strings.Repeat("filler ", i)))
	}
	queries := [][]string{{"gate"}, {"reservoir opens"}, {"how does the gate of number7 open"}, {`"gate opens"`}, {"number1*"}, {"reservoirs", "--space", "project"}, {"gaet"}, {"opens AND NOT number3"}}
	answers := func() (all string) {
		for _, q := range queries {
			all += fmt.Sprintln(q) + brief(h.searched(append(q, "--limit", "60")...))
		}
		return all
	}
	want := answers()
	check := func(how string) {
		t.Helper()
		if got := answers(); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", how, got, want)
		}
	}
	check("from the index")
	for i := range 3 { // changed, and changed back by a writer that keeps no time
		h.note(fmt.Sprintf("acme/n%02d", i), "something else entirely")
	}
	h.searched("gate")
	for i := range 3 {
		h.note(fmt.Sprintf("acme/n%02d", i), fmt.Sprintf("The gate %s of reservoir number%d. %s", strings.Repeat("opens ", i%5), i, strings.Repeat("filler ", i)))
	}
	check("after changes that were taken back")
	cache := strings.TrimSpace(h.rye("where", "cache"))
	if err := os.RemoveAll(cache); err != nil {
		t.Fatal(err)
	}
	for i := range 6 { // an index without some, which come from memory
		os.Rename(filepath.Join(h.dir, fmt.Sprintf(".ai/knowledge/acme/n%02d.md", i)), filepath.Join(h.dir, fmt.Sprint(i)))
	}
	h.searched("gate")
	for i := range 6 {
		os.Rename(filepath.Join(h.dir, fmt.Sprint(i)), filepath.Join(h.dir, fmt.Sprintf(".ai/knowledge/acme/n%02d.md", i)))
	}
	check("from an index and from memory")
	file := filepath.Join(h.dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h.env = append(h.env, "XDG_CACHE_HOME="+file)
	if said := h.said("gate"); !strings.Contains(said, "no place for the search index of the project space") {
		t.Errorf("without a place it says %q", said)
	}
	check("without a cache directory")
}

// An index that is damaged is built anew, which is said once.
func TestSearchDamagedIndex(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for i := range 20 {
		h.note(fmt.Sprintf("acme/n%d", i), fmt.Sprintf("reservoir number%d", i))
	}
	want := h.searched("number7", "--space", "project")
	for _, ext := range []string{".zap", ".rows"} {
		for _, file := range h.indexes(ext) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			raw[len(raw)/2] ^= 0x40
			if err := os.WriteFile(file, raw, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if said := h.said("number7", "--space", "project"); !strings.Contains(said, "search index of the project space was damaged and is built anew") {
			t.Errorf("%s: it says %q", ext, said)
		}
		if said := h.said("number7", "--space", "project"); strings.Contains(said, "damaged") {
			t.Errorf("%s: it says %q again", ext, said)
		}
		if got := h.searched("number7", "--space", "project"); brief(got) != brief(want) {
			t.Errorf("%s: it finds %v, want %v", ext, got, want)
		}
	}
}

// Whoever is killed at whatever moment leaves what the next search uses or clears away.
func TestSearchKilled(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for i := range 300 {
		h.note(fmt.Sprintf("acme/n%d", i), fmt.Sprintf("reservoir number%d %s", i, strings.Repeat("water ", 200)))
	}
	cache := strings.TrimSpace(h.rye("where", "cache"))
	rounds := 12
	if soak {
		rounds = 200
	}
	for i := range rounds {
		if i%3 == 0 {
			os.RemoveAll(filepath.Join(cache, "search"))
		}
		cmd := h.command("search", "reservoir")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i*240/rounds) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
	}
	h.rye("search", "reservoir") // in every space, as the killed ones: it removes what they left
	said := h.said("reservoir", "--limit", "400", "--space", "project")
	if hits := h.searched("reservoir", "--limit", "400", "--space", "project"); len(hits) != 300 || strings.Contains(said, "damaged") {
		t.Errorf("%d items are found, want 300; it says %s", len(hits), said)
	}
	for _, f := range h.indexes(".zap") {
		if _, err := os.Stat(strings.TrimSuffix(f, ".zap") + ".rows"); err != nil {
			t.Errorf("%s is left", f)
		}
	}
	if left := h.indexes(""); slices.ContainsFunc(left, func(f string) bool { return strings.HasPrefix(filepath.Base(f), ".rye-tmp-") }) {
		t.Errorf("left are %v", left)
	}
}

// Items of any size cost no more than is read of one: what lies behind is not searched, and
// the hit says so. What is larger than an item may be is found by its name.
func TestSearchHostileItems(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	times := 1
	if soak {
		times = 4
	}
	h.note("acme/long", "sluiceway "+strings.Repeat("All work and no play. ", 300_000)+" spillway")
	h.note("acme/tokens", "penstock "+strings.Repeat("a1 b2 c3 d4 ", 600_000))
	var distinct strings.Builder
	for i := range times * 100_000 {
		fmt.Fprintf(&distinct, "w%x ", i)
	}
	h.note("acme/distinct", "tailrace "+distinct.String())
	h.write(".ai/knowledge/acme/huge.md", "---\n")
	if err := os.Truncate(filepath.Join(h.dir, ".ai/knowledge/acme/huge.md"), 1<<30); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{"sluiceway": "knowledge:acme/long", "penstock": "knowledge:acme/tokens", "tailrace": "knowledge:acme/distinct", "huge": "knowledge:acme/huge"} {
		hits := h.searched(query, "--space", "project")
		if len(hits) == 0 || hits[0].Ref != want || hits[0].Guess {
			t.Errorf("%s finds %+v", query, hits)
		} else if hits[0].Partly != (query == "sluiceway" || query == "penstock") {
			t.Errorf("%s: partly is %v", query, hits[0].Partly)
		}
	}
	if hits := h.searched("spillway", "--space", "project"); len(hits) > 0 && !hits[0].Guess {
		t.Errorf("what lies behind the bound is found: %+v", hits)
	}
	for _, bomb := range []string{strings.Repeat("(", 2000), strings.Repeat("a* ", 500), strings.Repeat("NOT ", 1000) + "a", "*a*b*c*d*e*f*", strings.Repeat("abcd~2 ", 30*times), strings.Repeat("x", 5000)} {
		began := time.Now()
		cmd := h.command("search", "--space", "project", "--", bomb)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 2 && exit.ExitCode() != 20) {
			t.Errorf("%.20q: %v: %.200s", bomb, err, out)
		}
		t.Logf("%.20q took %s", bomb, time.Since(began))
	}
}

// Two servers, a writer, a person, and somebody who is killed again and again, on one project:
// what a write that returned says is found at once, by everybody. RYE_SOAK makes it a minute.
func TestSearchWhileOthersWrite(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for i := range 120 {
		h.note(fmt.Sprintf("acme/n%d", i), fmt.Sprintf("reservoir number%d %s", i, strings.Repeat("water ", 50)))
	}
	lasts := 2 * time.Second
	if soak {
		lasts = time.Minute
	}
	a, _ := h.connect(nil)
	b, _ := h.connect(nil)
	until := time.Now().Add(lasts)
	var wg sync.WaitGroup
	var asked, longest atomic.Int64
	find := func(s *mcp.ClientSession, word, want string) {
		began := time.Now()
		got, failed := call(t, s, "search", map[string]any{"query": word, "space": "project", "limit": 1})
		asked.Add(1)
		longest.Store(max(longest.Load(), int64(time.Since(began))))
		results, _ := got["results"].([]any)
		if failed || len(results) == 0 || results[0].(map[string]any)["id"] != want || results[0].(map[string]any)["guess"] == true {
			t.Errorf("%s finds %v, want %s", word, got, want)
		}
	}
	wg.Go(func() { // the killed
		for i := 0; time.Now().Before(until); i++ {
			cmd := h.command("search", "water")
			if cmd.Start() == nil {
				time.Sleep(time.Duration(i%60) * time.Millisecond)
				cmd.Process.Kill()
				cmd.Wait()
			}
		}
	})
	for i := 0; time.Now().Before(until); i++ {
		id, word := fmt.Sprintf("acme/n%d", i%120), fmt.Sprintf("marker%dx", i)
		h.note(id, "water "+word)
		find(a, word, id)
		find(b, word, id)
		if i%20 == 0 {
			if hits := h.searched(word, "--space", "project"); len(hits) == 0 || hits[0].Ref != "knowledge:"+id || hits[0].Guess {
				t.Errorf("a person finds %+v by %s, want %s", hits, word, id)
			}
		}
		if i >= 120 { // what was there before is gone
			old := fmt.Sprintf("marker%dx", i-120)
			if got, _ := call(t, a, "search", map[string]any{"query": old, "space": "project", "limit": 1}); fmt.Sprint(got["nearest"]) == "<nil>" && fmt.Sprint(got["total"]) != "0" {
				t.Errorf("%s is still found: %v", old, got)
			}
		}
		if t.Failed() {
			break
		}
	}
	wg.Wait()
	t.Logf("%d searches of servers, the longest took %s", asked.Load(), time.Duration(longest.Load()))
}
