package main

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// testsFile is the file, beside the patches, with the packages whose tests must notice each patch.
const testsFile = "tests.txt"

// readBlind reads a directory of patches, which were written from the sources alone. Each is one
// mutant; its name is the file's without .patch, and testsFile lists it.
func readBlind(dir fs.FS) (all []mutant, err error) {
	files, err := fs.Glob(dir, "*.patch")
	if err != nil || len(files) == 0 {
		return nil, err
	}
	table, err := fs.ReadFile(dir, testsFile)
	if err != nil {
		return nil, err
	}
	tests, err := parseTests(string(table))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", testsFile, err)
	}
	for _, f := range files {
		text, err := fs.ReadFile(dir, f)
		if err != nil {
			return nil, err
		}
		m, err := parsePatch(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		m.name = strings.TrimSuffix(f, ".patch")
		t, ok := tests[m.name]
		if !ok {
			return nil, fmt.Errorf("%s: %s is not in it", testsFile, m.name)
		}
		delete(tests, m.name)
		m.pkg, m.test = t.pkg, t.test
		all = append(all, m)
	}
	for name := range tests {
		return nil, fmt.Errorf("%s: there is no patch %s", testsFile, name)
	}
	return all, nil
}

// parseTests reads lines of a name, one or more packages, and optionally an expression for
// go test -run. It ignores empty lines and lines that begin with #.
func parseTests(text string) (map[string]mutant, error) {
	all := map[string]mutant{}
	for n, line := range slices.Collect(strings.Lines(text)) {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		m, rest := mutant{name: f[0]}, f[1:]
		pkgs := 0
		for pkgs < len(rest) && strings.HasPrefix(rest[pkgs], "./") {
			pkgs++
		}
		if m.pkg = strings.Join(rest[:pkgs], " "); pkgs < len(rest) {
			m.test = rest[pkgs]
		}
		if _, err := regexp.Compile(m.test); err != nil || pkgs == 0 || len(rest)-pkgs > 1 || all[m.name] != (mutant{}) {
			return nil, fmt.Errorf("line %d: %q: want a name, packages like ./store, and at most one expression, each name once", n+1, strings.TrimSpace(line))
		}
		all[m.name] = m
	}
	return all, nil
}

// parsePatch reads a patch of one file. The patch begins with a comment about its effect.
func parsePatch(text string) (m mutant, err error) {
	comment, diff, _ := strings.Cut(text, "diff --git ")
	if !strings.HasPrefix(comment, "# ") {
		return m, fmt.Errorf("want # and what it breaks in the first line")
	}
	head, hunks, _ := strings.Cut(diff, "\n@@ ")
	from, to := lineAfter(head, "--- a/"), lineAfter(head, "+++ b/")
	if m.file = from; from == "" || from != to || path.Ext(from) != ".go" || hunks == "" || strings.Contains(hunks, "\ndiff --git ") {
		return m, fmt.Errorf("want the patch of one Go file, %q becomes %q", from, to)
	}
	m.patch = "@@ " + hunks
	_, err = edits(m.patch)
	return m, err
}

// lineAfter returns the text after a prefix in the first line that begins with it.
func lineAfter(text, prefix string) string {
	_, rest, _ := strings.Cut("\n"+text, "\n"+prefix)
	rest, _, _ = strings.Cut(rest, "\n")
	return rest
}

// edit is some lines of a file, and their replacement.
type edit struct{ old, new string }

// edits reads the hunks of a patch. The lines around a change are part of both texts; the
// line numbers are not used.
func edits(hunks string) (all []edit, err error) {
	for n, line := range slices.Collect(strings.Lines(hunks)) {
		last := len(all) - 1
		switch {
		case strings.HasPrefix(line, "@@ "):
			all = append(all, edit{})
		case line[0] == ' ':
			all[last].old += line[1:]
			all[last].new += line[1:]
		case line[0] == '-':
			all[last].old += line[1:]
		case line[0] == '+':
			all[last].new += line[1:]
		default:
			return nil, fmt.Errorf("line %d of the hunks: %q, want @@, a space, - or + before it", n+1, strings.TrimSpace(line))
		}
	}
	for _, e := range all {
		if e.old == "" || e.old == e.new {
			return nil, fmt.Errorf("a hunk changes nothing, or no line is around it")
		}
	}
	return all, nil
}

// failed matches a failed test and its name.
var failed = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+) \(`)

// judgeAny is judge for a patch, which names no test: any test may fail. It returns the first
// failed one. Tests that only ran out of time may be slow, and prove nothing.
func judgeAny(said string, err error) (verdict, string) {
	built := !regexp.MustCompile(`(?m)^FAIL\t.* \[(build|setup) failed\]$`).MatchString(said)
	first := failed.FindStringSubmatch(said)
	switch {
	case err != nil && built && first != nil:
		return dead, first[1]
	case strings.Contains(said, "\npanic: test timed out after "):
		return late, ""
	case err != nil && built && regexp.MustCompile(`(?m)^(panic|fatal error): `).MatchString(said):
		return dead, "panic"
	case err == nil && regexp.MustCompile(`(?m)^--- PASS: `).MatchString(said):
		return survived, ""
	}
	return broken, ""
}
