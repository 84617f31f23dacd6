package command

import (
	"crypto/sha256"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// classes are the kinds of harm that rules and corpora name.
var classes = []string{"destroy", "exfiltrate", "fetch-and-run", "persist", "shell-out", "weaken", "history", "obscure", "limit"}

// Each rule finds its bad example, and leaves its good one alone.
func TestEveryRuleHasAnExampleEachWay(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rulebook {
		if r.id == "" || seen[r.id] || r.label == "" || r.reason == "" || r.tier == T0 || !slices.Contains(classes, r.class) {
			t.Errorf("%q: not a whole rule, or a second one of this name", r.id)
		}
		seen[r.id] = true
		if r.class == "limit" {
			continue // see TestTextsThatAreMadeToBeExpensive
		}
		has := func(f Finding) bool { return f.Rule == r.id }
		if found := Analyse(r.bad, nil, nil); !slices.ContainsFunc(found, has) || r.bad == "" {
			t.Errorf("%s: %q: %+v", r.id, r.bad, found)
		}
		if found := Analyse(r.good, nil, nil); slices.ContainsFunc(found, has) || r.good == "" {
			t.Errorf("%s: %q is found", r.id, r.good)
		}
	}
}

// Every word of the tables that is no text has a meaning: a misspelt class, role, pattern or
// origin would never match.
func TestTablesAreSpelledWell(t *testing.T) {
	if len(roleNames) > 32 || originNames[len(originNames)-1] != "keyed" || keyed != 1<<(len(originNames)-1) || builds != 1<<(len(roleNames)-1) {
		t.Error("a list of names differs from its constants")
	}
	c := (&analysis{}).machine().call("x", []value{{text: "x"}}, value{})
	check := func(rows []row) {
		for _, r := range rows {
			for _, e := range r.elements {
				for _, a := range e.alternatives {
					if name, ok := strings.CutPrefix(a, "~"); ok && patterns()[name] == nil {
						t.Errorf("no pattern %s", a)
					}
					if name, ok := strings.CutPrefix(a, "<"); ok && name != "known" && !slices.Contains(originNames, name) {
						t.Errorf("no origin %s", a)
					}
					if strings.HasPrefix(a, "~") {
						continue
					}
					if _, class, ok := strings.Cut(a, "@"); ok && !callClasses.has(class) {
						c.of(class, value{}) // panics for a class that does not exist
					}
				}
			}
		}
	}
	for _, tab := range []*table{acts(), casts()} {
		for _, rows := range tab.byName {
			check(rows)
		}
		for _, rows := range tab.byRole {
			check(rows)
		}
	}
}

// TestUnseenLines prints recall and precision by class for lines that were written without sight of
// the rules, and holds what was reached. The rules were then tuned on each half but the last. The
// earlier half was kept apart at first, and the rules were tuned on it after its figures were known.
func TestUnseenLines(t *testing.T) {
	for _, half := range []struct {
		name             string
		class, all       float64 // recall
		precision, worst float64 // over all, and in a class
	}{{"tuned", 0.95, 0.95, 0.95, 0.95}, {"earlier", 0.95, 0.95, 0.95, 0.95}, {"later-tuned", 0.95, 0.95, 0.95, 0.95}, {"later", 0.9, 0.8, 0.95, 0.95}} {
		by := countLines(t, "testdata/lines-"+half.name+".tsv")
		for _, class := range append(slices.Clone(classes[:8]), "all") {
			c, least, precise := by[class], half.class, half.worst
			if class == "all" {
				least, precise = half.all, half.precision
			}
			recall, precision := float64(c.found)/float64(c.dangerous), float64(c.found)/float64(max(c.found+c.alarms, 1))
			fmt.Printf("  %-11s  %-14s recall %3d of %3d (%.2f), precision %.2f, %d alarms in %d harmless\n", half.name, class, c.found, c.dangerous, recall, precision, c.alarms, c.harmless)
			if recall < least || precision < precise || c.dangerous < 20 || c.harmless < 20 {
				t.Errorf("%s, %s: recall %.2f, precision %.2f of %d and %d lines", half.name, class, recall, precision, c.dangerous, c.harmless)
			}
		}
	}
}

// TestLinesKeptApart compares the halves that were kept apart with their digests, which were recorded
// before the rules were tuned.
func TestLinesKeptApart(t *testing.T) {
	for _, name := range []string{"lines-earlier", "lines-later"} {
		text, err := os.ReadFile("testdata/" + name + ".tsv")
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile("testdata/" + name + ".sha256")
		if got := fmt.Sprintf("%x  %s.tsv\n", sha256.Sum256(text), name); err != nil || got != string(want) {
			t.Errorf("the half kept apart has the digest %s, want %s (%v)", got, want, err)
		}
	}
}

// lineCount counts lines of one class by what they are, and what the analysis says.
type lineCount struct{ dangerous, found, harmless, alarms int }

// countLines judges the lines of a file, class<TAB>dangerous|harmless<TAB>line, by class and as "all".
func countLines(t *testing.T, path string) map[string]*lineCount {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]*lineCount{"all": {}}
	for i, l := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		f := strings.SplitN(l, "\t", 3)
		if len(f) != 3 || f[1] != "dangerous" && f[1] != "harmless" || !slices.Contains(classes, f[0]) {
			t.Fatalf("%s, line %d: %q", path, i+1, l)
		}
		if by[f[0]] == nil {
			by[f[0]] = &lineCount{}
		}
		found := len(foundIn(t, withHeredoc(f[2]))) > 0
		for _, c := range []*lineCount{by[f[0]], by["all"]} {
			switch {
			case f[1] == "dangerous" && found:
				c.dangerous++
				c.found++
			case f[1] == "dangerous":
				c.dangerous++
			case found:
				c.harmless++
				c.alarms++
			default:
				c.harmless++
			}
		}
	}
	return by
}

var heredoc = regexp.MustCompile(`<<-?\s*['"]?([A-Za-z_]+)['"]?`)

// withHeredoc returns a line of a corpus with the lines of its here-document, between which the
// corpus has "\n". Elsewhere "\n" stands for itself.
func withHeredoc(line string) string {
	if m := heredoc.FindStringSubmatch(line); m != nil && strings.Contains(line, `\n`+m[1]) {
		return strings.ReplaceAll(line, `\n`, "\n")
	}
	return line
}

// A program in another language is a finding for callers that are no person, and only there.
func TestUnreadCode(t *testing.T) {
	for line, want := range map[string]bool{
		`python3 -c "print(1)"`: true, "node -e '1'": true, "python3 - <<'E'\nprint(1)\nE": true, "perl -ne 'print' f": true, "bash -c 'ruby -e 1'": true,
		"python3 x.py": false, "node --version": false, "bash -c 'ls'": false, "awk '{print $1}' f": false, "sed s/a/b/ f": false, "go test ./...": false,
	} {
		found := Unread(map[string]any{"command": line})
		if (len(found) > 0) != want {
			t.Errorf("%s: %+v", line, found)
		}
		for _, f := range found {
			if f.Tier != T2 || f.Param != "command" || f.Rule != "unread-code" {
				t.Errorf("%s: %+v", line, f)
			}
		}
		if found := Analyse(line, nil, nil); len(found) > 0 {
			t.Errorf("%s: %+v", line, found)
		}
	}
}

// The page of the format lists every rule, with what the rulebook says.
func TestRulesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/format/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rulebook {
		if line := fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", r.id, r.label, r.class, r.tier, r.reason); !strings.Contains(string(page), line) {
			t.Errorf("docs/format/policy.md lacks %s", line)
		}
	}
}
