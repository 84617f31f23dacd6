package resolve

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
)

// world is what registries have: "a 1.0.0 yanked: b ^1, c *" is a line.
type world map[objects.Ref][]Version

func ref(t testing.TB, name string) objects.Ref {
	t.Helper()
	r, err := objects.ParseRef("acme/tool/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func rng(t testing.TB, s string) objects.Range {
	t.Helper()
	r, err := objects.ParseRange(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func published(t testing.TB, lines ...string) world {
	t.Helper()
	w := world{}
	for _, line := range lines {
		head, deps, _ := strings.Cut(line, ":")
		f := strings.Fields(head)
		v := Version{Entry: oplog.Entry{Ref: ref(t, f[0]), Version: f[1], Status: oplog.StatusOK, Meta: oplog.Meta{Deps: map[string]string{}}}}
		if len(f) > 2 {
			v.Status, v.Reason = oplog.Status(f[2]), "it leaks"
		}
		for _, d := range strings.Split(deps, ",") {
			if name, want, ok := strings.Cut(strings.TrimSpace(d), " "); ok {
				v.Meta.Deps["acme/tool/"+name] = want
			}
		}
		w[v.Ref] = append(w[v.Ref], v)
	}
	return w
}

func (w world) source(r objects.Ref) ([]Version, error) { return w[r], nil }

func wants(t testing.TB, list ...string) (all []Want) {
	for _, s := range list {
		name, r, _ := strings.Cut(s, " ")
		name, limit := strings.CutPrefix(name, "?")
		all = append(all, Want{Item: ref(t, name), Range: rng(t, r), By: "your rye.yaml", Limit: limit})
	}
	return all
}

func (s *Solution) String() string {
	var all []string
	for r, c := range s.Chosen {
		all = append(all, r.ID.Name()+"@"+c.Version.Version)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestResolve(t *testing.T) {
	tests := []struct {
		name   string
		world  []string
		wants  []string
		pinned string // "a 1.0.0, b 1.0.0"
		moving string // names
		want   string // the solution, or words of the error
		code   fault.Code
	}{
		{"newest", []string{"a 1.0.0", "a 1.2.0", "a 2.0.0"}, []string{"a ^1"}, "", "", "a@1.2.0", ""},
		{"zero caret", []string{"a 0.1.9", "a 0.2.0"}, []string{"a ^0.1"}, "", "", "a@0.1.9", ""},
		{"pre-release only when named", []string{"a 1.0.0", "a 1.1.0-rc.1"}, []string{"a ^1"}, "", "", "a@1.0.0", ""},
		{"pre-release named", []string{"a 1.0.0", "a 1.1.0-rc.1"}, []string{"a ^1.1.0-rc.0"}, "", "", "a@1.1.0-rc.1", ""},
		{"pre-release only", []string{"a 1.1.0-rc.1"}, []string{"a *"}, "", "", "no version fits; the newest is 1.1.0-rc.1", fault.Conflict},
		{"deprecated is taken", []string{"a 1.0.0", "a 1.1.0 deprecated"}, []string{"a *"}, "", "", "a@1.1.0", ""},
		{"yanked is passed over", []string{"a 1.0.0", "a 1.1.0 yanked"}, []string{"a *"}, "", "", "a@1.0.0", ""},
		{"yanked only", []string{"a 1.1.0 yanked"}, []string{"a *"}, "", "", "1.1.0 was yanked: it leaks", fault.Conflict},
		{"revoked only", []string{"a 1.1.0 revoked"}, []string{"a *"}, "", "", "was revoked", fault.Revoked},
		{"nothing", nil, []string{"a *"}, "", "", "published nothing of this name", fault.NotFound},
		{"no range fits", []string{"a 1.0.0"}, []string{"a ^2"}, "", "", "no version fits; the newest is 1.0.0", fault.Conflict},

		{"pinned stays", []string{"a 1.0.0", "a 1.2.0"}, []string{"a ^1"}, "a 1.0.0", "", "a@1.0.0", ""},
		{"pinned moves when asked", []string{"a 1.0.0", "a 1.2.0"}, []string{"a ^1"}, "a 1.0.0", "a", "a@1.2.0", ""},
		{"pinned and yanked stays", []string{"a 1.0.0 yanked", "a 0.9.0"}, []string{"a *"}, "a 1.0.0", "", "a@1.0.0", ""},
		{"an update does not go back from what was yanked", []string{"a 1.0.0 yanked", "a 0.9.0"}, []string{"a *"}, "a 1.0.0", "a", "a@1.0.0", ""},
		{"an update leaves what was yanked", []string{"a 1.0.0 yanked", "a 1.0.1"}, []string{"a *"}, "a 1.0.0", "a", "a@1.0.1", ""},
		{"pinned and revoked does not stay", []string{"a 1.0.0 revoked", "a 0.9.0"}, []string{"a *"}, "a 1.0.0", "", "a@0.9.0", ""},
		{"pinned outside of the range moves", []string{"a 1.0.0", "a 2.0.0"}, []string{"a ^2"}, "a 1.0.0", "", "a@2.0.0", ""},
		{"what is pinned decides for others", []string{"a 1.0.0", "a 2.0.0", "b 1.0.0: a ^1", "b 2.0.0: a ^2"}, []string{"a *", "b *"}, "a 1.0.0", "", "a@1.0.0 b@1.0.0", ""},
		{"what is pinned moves before all fails", []string{"a 1.0.0", "a 2.0.0", "b 2.0.0: a ^2"}, []string{"a *", "b *"}, "a 1.0.0", "", "a@2.0.0 b@2.0.0", ""},

		{"along come deps", []string{"a 1.0.0: b ^1", "b 1.0.0: c *", "b 2.0.0", "c 3.0.0"}, []string{"a *"}, "", "", "a@1.0.0 b@1.0.0 c@3.0.0", ""},
		{"diamond", []string{"a 1.0.0: b *, c *", "b 1.0.0: d ^1", "c 1.0.0: d <1.5", "d 1.0.0", "d 1.4.0", "d 1.9.0"}, []string{"a *"}, "", "", "a@1.0.0 b@1.0.0 c@1.0.0 d@1.4.0", ""},
		{"cycle", []string{"a 1.0.0: b *", "b 1.0.0: a ^1"}, []string{"a *"}, "", "", "a@1.0.0 b@1.0.0", ""},
		{"cycle that excludes itself", []string{"a 2.0.0: b *", "a 1.0.0: b *", "b 1.0.0: a ^1"}, []string{"a *"}, "", "", "a@1.0.0 b@1.0.0", ""},
		{"itself", []string{"a 1.0.0: a ^2", "a 0.9.0"}, []string{"a *"}, "", "", "a@0.9.0", ""},
		{"an older one where the newest does not go", []string{"a 2.0.0: c ^2", "a 1.0.0: c ^1", "b 1.0.0: c ^1", "c 1.0.0", "c 2.0.0"}, []string{"a *", "b *"}, "", "", "a@1.0.0 b@1.0.0 c@1.0.0", ""},
		{"who excludes a version is to blame", []string{"c 1.0.0", "e 1.0.0", "e 2.0.0: n ^1", "n 1.0.0: c ^2", "n 2.0.0"}, []string{"c *", "e *", "n *"}, "", "", "c@1.0.0 e@1.0.0 n@2.0.0", ""},
		{"what was asked for is decided first", []string{"a 1.0.0: b *", "b 1.0.0", "b 2.0.0", "z 1.0.0: b ^2", "z 2.0.0: b ^1"}, []string{"a *", "z *"}, "", "", "a@1.0.0 b@1.0.0 z@2.0.0", ""},
		{"a limit alone wants nothing", []string{"a 1.0.0", "b 1.0.0"}, []string{"a *", "?b ^1"}, "", "", "a@1.0.0", ""},
		{"a limit holds", []string{"a 1.0.0: b *", "b 1.0.0", "b 2.0.0"}, []string{"a *", "?b ^1"}, "", "", "a@1.0.0 b@1.0.0", ""},

		{"diamond conflict", []string{"a 1.2.0: x ^1", "x 1.0.0", "x 2.0.0"}, []string{"a *", "x ^2"}, "", "",
			"acme/tool/x: no version fits: your rye.yaml wants ^2; your rye.yaml wants acme/tool/a *, so acme/tool/a@1.2.0 wants ^1", fault.Conflict},
		{"long chains", []string{"a 1.0.0: b *", "b 1.0.0: x ^1", "c 1.0.0: x ^2", "x 1.0.0", "x 2.0.0"}, []string{"a *", "c *"}, "", "",
			"your rye.yaml wants acme/tool/a *, so acme/tool/a@1.0.0 wants acme/tool/b *, so acme/tool/b@1.0.0 wants ^1", fault.Conflict},
		{"each version is wrong for one", []string{"a 1.0.0: x =1.0.0", "b 1.0.0: x =2.0.0", "x 1.0.0", "x 2.0.0"}, []string{"a *", "b *", "x *"}, "x 1.0.0", "",
			"acme/tool/b@1.0.0 wants =2.0.0", fault.Conflict},
		{"what is missing below", []string{"a 1.0.0: b *"}, []string{"a *"}, "", "", "acme/tool/b: namespace acme has published nothing of this name (your rye.yaml wants acme/tool/a *, so acme/tool/a@1.0.0 wants *)", fault.NotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := published(t, tt.world...)
			q := Request{Wants: wants(t, tt.wants...), Source: w.source, Pinned: map[objects.Ref]string{}, Moving: func(r objects.Ref) bool { return strings.Contains(tt.moving, r.ID.Name()) }}
			for _, p := range strings.Split(tt.pinned, ", ") {
				if name, v, ok := strings.Cut(p, " "); ok {
					q.Pinned[ref(t, name)] = v
				}
			}
			got, err := Resolve(q)
			if tt.code != "" {
				if !fault.Is(err, tt.code) || !strings.Contains(err.Error(), tt.want) {
					t.Fatalf("got %v (%s)\nwant %s (%s)", err, fault.CodeOf(err), tt.want, tt.code)
				}
				return
			}
			if err != nil || got.String() != tt.want {
				t.Fatalf("got %v, %v\nwant %s", got, err, tt.want)
			}
		})
	}
}

func TestTooYoung(t *testing.T) {
	now := time.Date(2026, 6, 10, 0, 0, 0, 0, time.UTC)
	w := published(t, "a 1.0.0", "a 1.1.0", "b 1.0.0")
	a := ref(t, "a")
	w[a][0].Since, w[a][1].Since = now.AddDate(0, 0, -30), now.AddDate(0, 0, -2)
	w[ref(t, "b")][0].Since = now.AddDate(0, 0, -1)
	week := func(r objects.Ref) time.Duration { return 7 * 24 * time.Hour }
	q := Request{Wants: wants(t, "a *"), Source: w.source, MinAge: week, Now: now}
	got, err := Resolve(q)
	if err != nil || got.String() != "a@1.0.0" || len(got.Passed) != 1 || got.Passed[0].Version != "1.1.0" || !got.Passed[0].Until.Equal(now.AddDate(0, 0, 5)) {
		t.Errorf("%v, %+v, %v", got, got.Passed, err)
	}
	q.Wants = wants(t, "b *")
	if _, err := Resolve(q); !fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), "1.0.0 is too young, until 2026-06-16T00:00:00Z") {
		t.Errorf("only a young one: %v", err)
	}
	q.Wants, q.Pinned = wants(t, "a *"), map[objects.Ref]string{a: "1.1.0"}
	if got, err := Resolve(q); err != nil || got.String() != "a@1.1.0" {
		t.Errorf("what is pinned may be young: %v, %v", got, err)
	}
	q.Pinned, q.Now = nil, now.AddDate(0, 0, 5)
	if got, err := Resolve(q); err != nil || got.String() != "a@1.1.0" {
		t.Errorf("a week later: %v, %v", got, err)
	}
}

func TestPassed(t *testing.T) {
	w := published(t, "a 1.0.0", "a 2.0.0", "a 3.0.0", "b 1.0.0: a <3", "c 1.0.0", "c 1.1.0: a ^9")
	got, err := Resolve(Request{Wants: wants(t, "a *", "b *", "c *"), Source: w.source})
	if err != nil || got.String() != "a@2.0.0 b@1.0.0 c@1.0.0" {
		t.Fatalf("%v, %v", got, err)
	}
	want := "[{tool:acme/a 3.0.0 0001-01-01 00:00:00 +0000 UTC acme/tool/b@1.0.0 wants <3} {tool:acme/c 1.1.0 0001-01-01 00:00:00 +0000 UTC its dependencies do not fit}]"
	if fmt.Sprint(got.Passed) != want {
		t.Errorf("passed %v, want %s", got.Passed, want)
	}
}

func TestInstead(t *testing.T) {
	w := published(t, "a 1.0.0", "a 1.2.0 yanked", "a 1.3.0", "a 2.0.0-rc.1")[ref(t, "a")]
	ok := func(v Version) bool { return v.Status == oplog.StatusOK }
	if got := Instead(w, "1.2.0", ok); got != "^1.3.0" {
		t.Errorf("got %q", got)
	}
	if got := Instead(w[:2], "1.2.0", ok); got != "1.0.0" {
		t.Errorf("only older: %q", got)
	}
	if got := Instead(w[1:2], "1.2.0", ok); got != "" {
		t.Errorf("nothing: %q", got)
	}
}

// A catalogue that would take 10^30 steps to search ends within the bound, and says so; one of
// which a part has no solution is refused without a search of the rest.
func TestHostileCatalogues(t *testing.T) {
	w, name := world{}, func(i int) string { return fmt.Sprintf("p%03d", i) }
	var all []string
	for i := range 30 {
		var lines []string
		for v := range 10 { // every item wants each of the next three in the same version, the last in another
			lines = append(lines, fmt.Sprintf("%s 1.%d.0: %s 1.%d.x, %s 1.%d.x", name(i), v, name((i+1)%30), v, name((i+7)%30), (v+i/29)%10))
		}
		maps.Copy(w, published(t, lines...))
		all = append(all, name(i)+" *")
	}
	start := time.Now()
	_, err := Resolve(Request{Wants: wants(t, all...), Source: w.source})
	if !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.Limit) {
		t.Errorf("a knot: %v", err)
	}
	t.Logf("a knot of 30 items: %v after %v", fault.CodeOf(err), time.Since(start))

	// A hard question of logic: each of many items wants one of three others in one of two versions.
	hard, r := world{}, rand.New(rand.NewPCG(1, 2))
	all = nil
	const variables = 120
	for i := range variables {
		maps.Copy(hard, published(t, fmt.Sprintf("x%03d 1.0.0", i), fmt.Sprintf("x%03d 2.0.0", i)))
	}
	for i := range variables * 43 / 10 {
		var lines []string
		for v := range 3 {
			lines = append(lines, fmt.Sprintf("c%03d 1.%d.0: x%03d ^%d", i, v, r.IntN(variables), 1+r.IntN(2)))
		}
		maps.Copy(hard, published(t, lines...))
		all = append(all, fmt.Sprintf("c%03d *", i))
	}
	start = time.Now()
	_, err = Resolve(Request{Wants: wants(t, all...), Source: hard.source})
	t.Logf("a hard question: %v after %v", err, time.Since(start))
	if !fault.Is(err, fault.Limit) || !strings.Contains(fault.HintOf(err).String(), "exact versions") {
		t.Errorf("a hard question: %v", err)
	}

	deep := func(r objects.Ref) ([]Version, error) { // every item wants two that nobody has heard of
		v := Version{Entry: oplog.Entry{Ref: r, Version: "1.0.0", Status: oplog.StatusOK, Meta: oplog.Meta{Deps: map[string]string{}}}}
		for _, more := range []string{"x", "y"} {
			next := string(r.ID) + more
			if len(next) > 99 {
				next = fmt.Sprintf("%s/%s", next[:98], more)
			}
			v.Meta.Deps["acme/tool/"+strings.TrimPrefix(next, "acme/")] = "*"
		}
		return []Version{v}, nil
	}
	if _, err := Resolve(Request{Wants: wants(t, "a *"), Source: deep}); !fault.Is(err, fault.Limit) {
		t.Errorf("without end: %v", err)
	}
}

func TestSourceFails(t *testing.T) {
	w := published(t, "a 1.0.0: b *")
	down := errors.New("down")
	_, err := Resolve(Request{Wants: wants(t, "a *"), Source: func(r objects.Ref) ([]Version, error) {
		if r == ref(t, "b") {
			return nil, down
		}
		return w[r], nil
	}})
	if !errors.Is(err, down) || !strings.Contains(err.Error(), "acme/tool/a@1.0.0 wants *") {
		t.Errorf("got %v", err)
	}
}

// some is a small random request.
func some(t testing.TB, r *rand.Rand) Request {
	w := world{}
	ranges := []string{"*", "*", "^1", "^2", "1.0.x", ">=1.1", "<2", "=2.0.0", "^1 || ^3", "~2.0"}
	versions := []string{"1.0.0", "1.1.0", "2.0.0", "2.1.0-rc.1", "3.0.0"}
	items := 2 + r.IntN(4)
	pick := func() string { return string(rune('a' + r.IntN(items))) }
	for i := range items {
		for _, v := range versions {
			if r.IntN(3) == 0 {
				continue
			}
			line := string(rune('a'+i)) + " " + v
			if r.IntN(6) == 0 {
				line += " " + []string{"yanked", "deprecated", "revoked"}[r.IntN(3)]
			}
			line += ":"
			for range r.IntN(3) {
				line += " " + pick() + " " + ranges[r.IntN(len(ranges))] + ","
			}
			for ref, list := range published(t, line) {
				w[ref] = append(w[ref], list...)
			}
		}
	}
	q := Request{Source: w.source, Pinned: map[objects.Ref]string{}}
	for range 1 + r.IntN(3) {
		name := pick()
		if r.IntN(4) == 0 {
			name = "?" + name
		}
		q.Wants = append(q.Wants, wants(t, name+" "+ranges[r.IntN(len(ranges))])...)
	}
	for range r.IntN(3) {
		q.Pinned[ref(t, pick())] = versions[r.IntN(len(versions))]
	}
	moving := ref(t, pick())
	q.Moving = func(r objects.Ref) bool { return r == moving }
	return q
}

// oracle tries every set of versions in the order of preference, and judges it when it is
// complete. It knows nothing of the search but its order.
func oracle(t testing.TB, q Request) map[objects.Ref]string {
	lists := map[objects.Ref][]Version{}
	versions := func(r objects.Ref) []Version {
		if l, ok := lists[r]; ok {
			return l
		}
		all, _ := q.Source(r)
		pin, moving := q.Pinned[r], q.Moving(r)
		all = slices.DeleteFunc(slices.Clone(all), func(v Version) bool {
			return v.Status.Gone() || v.Status == oplog.StatusYanked && v.Version != pin
		})
		slices.SortFunc(all, func(a, b Version) int {
			if !moving && (a.Version == pin) != (b.Version == pin) {
				if a.Version == pin {
					return -1
				}
				return 1
			}
			return -strings.Compare(a.Version, b.Version)
		})
		lists[r] = all
		return all
	}
	needs := func(chosen map[objects.Ref]Version) (open []objects.Ref) {
		add := func(r objects.Ref) {
			if _, ok := chosen[r]; !ok && !slices.Contains(open, r) {
				open = append(open, r)
			}
		}
		for _, w := range q.Wants {
			if !w.Limit {
				add(w.Item)
			}
		}
		for _, v := range chosen {
			for name := range v.Meta.Deps {
				r, _ := objects.ParseRef(name)
				add(r)
			}
		}
		return open
	}
	root := func(r objects.Ref) bool {
		return slices.ContainsFunc(q.Wants, func(w Want) bool { return w.Item == r && !w.Limit })
	}
	rank := func(r objects.Ref) string {
		_, pinned := q.Pinned[r]
		switch {
		case pinned && !q.Moving(r):
			return "0" + r.Published()
		case root(r):
			return "1" + r.Published()
		}
		return "2" + r.Published()
	}
	var found map[objects.Ref]string
	var rec func(chosen map[objects.Ref]Version) bool
	rec = func(chosen map[objects.Ref]Version) bool {
		open := needs(chosen)
		if len(open) == 0 {
			got := map[objects.Ref]string{}
			for r, v := range chosen {
				got[r] = v.Version
			}
			if problem := holds(q, chosen); problem != "" {
				return false
			}
			found = got
			return true
		}
		slices.SortFunc(open, func(a, b objects.Ref) int { return strings.Compare(rank(a), rank(b)) })
		for _, v := range versions(open[0]) {
			chosen[open[0]] = v
			if rec(chosen) {
				return true
			}
			delete(chosen, open[0])
		}
		return false
	}
	rec(map[objects.Ref]Version{})
	return found
}

// holds says what is wrong with a set of versions.
func holds(q Request, chosen map[objects.Ref]Version) string {
	check := func(r objects.Ref, want string) string {
		rg, err := objects.ParseRange(want)
		if err != nil {
			return err.Error()
		}
		c, ok := chosen[r]
		if !ok {
			return r.String() + " is missing"
		}
		if v, err := objects.ParseVersion(c.Version); err != nil || !rg.Allows(v) {
			return c.Name() + " is not in " + want
		}
		return ""
	}
	for _, w := range q.Wants {
		if _, ok := chosen[w.Item]; !ok && w.Limit {
			continue
		}
		if p := check(w.Item, w.Range.String()); p != "" {
			return p
		}
	}
	for r, c := range chosen {
		if c.Status.Gone() || c.Status == oplog.StatusYanked && q.Pinned[r] != c.Version {
			return c.Name() + " was " + string(c.Status)
		}
		for name, want := range c.Meta.Deps {
			d, _ := objects.ParseRef(name)
			if p := check(d, want); p != "" {
				return p
			}
		}
	}
	return ""
}

// judge compares an answer with the oracle's, and with that to the same request in another order.
func judge(t *testing.T, seed uint64) (solved bool) {
	r := rand.New(rand.NewPCG(seed, 1))
	q := some(t, r)
	got, err := Resolve(q)
	want := oracle(t, q)
	if (want == nil) != (err != nil) {
		t.Fatalf("seed %d: got %v, %v; there is %v", seed, got, err, want)
	}
	again := q
	again.Wants = slices.Clone(q.Wants)
	r.Shuffle(len(again.Wants), func(i, j int) { again.Wants[i], again.Wants[j] = again.Wants[j], again.Wants[i] })
	again.Source = func(ref objects.Ref) ([]Version, error) {
		l, err := q.Source(ref)
		l = slices.Clone(l)
		r.Shuffle(len(l), func(i, j int) { l[i], l[j] = l[j], l[i] })
		return l, err
	}
	other, err2 := Resolve(again)
	if err != nil {
		if err2 == nil || err.Error() != err2.Error() {
			t.Fatalf("seed %d: in another order\n%v\n%v", seed, err, err2)
		}
		return false
	}
	chosen, versions := map[objects.Ref]Version{}, map[objects.Ref]string{}
	for r, c := range got.Chosen {
		chosen[r], versions[r] = c.Version, c.Version.Version
	}
	if p := holds(q, chosen); p != "" {
		t.Fatalf("seed %d: %s: %s", seed, got, p)
	}
	if !maps.Equal(versions, want) {
		t.Fatalf("seed %d: got %v, preferred %v", seed, got, want)
	}
	if err2 != nil || other.String() != got.String() || fmt.Sprint(other.Passed) != fmt.Sprint(got.Passed) {
		t.Fatalf("seed %d: in another order %v, %v, not %v", seed, other, err2, got)
	}
	return true
}

func TestAgainstOracle(t *testing.T) {
	solved, n := 0, uint64(4000)
	for seed := range n {
		if judge(t, seed) {
			solved++
		}
	}
	if solved < int(n)/5 || solved > int(n)*9/10 {
		t.Errorf("%d of %d can be solved: the requests say little", solved, n)
	}
	t.Logf("%d of %d can be solved", solved, n)
}

func FuzzResolve(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed * 7919)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { judge(t, seed) })
}

// BenchmarkResolve chooses among ten versions of each of a thousand items, each of which wants
// three others.
func BenchmarkResolve(b *testing.B) {
	w := world{}
	for i := range 1000 {
		for v := range 10 {
			line := fmt.Sprintf("p%d 1.%d.0: p%d ^1, p%d >=1.2 <2, p%d 1.x", i, v, (i*7+1)%1000, (i*13+5)%1000, (i+1)%1000)
			maps.Copy(w, merged(w, published(b, line)))
		}
	}
	q := Request{Wants: wants(b, "p0 *"), Source: w.source}
	for b.Loop() {
		if sol, err := Resolve(q); err != nil || len(sol.Chosen) != 1000 {
			b.Fatal(err)
		}
	}
}

func merged(w, more world) world {
	out := world{}
	for r, list := range more {
		out[r] = append(slices.Clone(w[r]), list...)
	}
	return out
}
