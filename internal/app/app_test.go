package app

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rye-os/rye/internal/words"
)

func env(m map[string]string) func(string) string { return func(k string) string { return m[k] } }

func TestFindProject(t *testing.T) {
	top := t.TempDir()
	deep := filepath.Join(top, "p", "a", "b")
	user := filepath.Join(top, "home")
	for _, d := range []string{deep, filepath.Join(top, "p", ".ai"), filepath.Join(user, ".ai"), filepath.Join(user, "x")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{filepath.Join(top, "p", ".ai", "rye.yaml"), filepath.Join(user, ".ai", "rye.yaml")} {
		if err := os.WriteFile(f, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := FindProject(deep, user, ""); got != filepath.Join(top, "p") {
		t.Errorf("below a project: %q", got)
	}
	if got, _ := FindProject(filepath.Join(user, "x"), user, ""); got != "" {
		t.Errorf("the user space was taken for a project: %q", got)
	}
	link := filepath.Join(top, "link")
	if err := os.Symlink(user, link); err == nil {
		if got, _ := FindProject(link, user, ""); got != "" {
			t.Errorf("the user space, by another name, was taken for a project: %q", got)
		}
	}
	if got, _ := FindProject(top, user, ""); got != "" {
		t.Errorf("outside: %q", got)
	}
	// A home directory ends the search, whatever lies there and above.
	at := filepath.Join(top, "p", "a")
	for _, dir := range []string{deep, at} {
		if got, ended := FindProject(dir, "", at); got != "" || !strings.Contains(ended, at+" is never a project") {
			t.Errorf("from %s with the home %s: %q, %q", dir, at, got, ended)
		}
	}
}

func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	abs := filepath.Join(dir, "x")
	p := findPlaces(dir, "", env(map[string]string{"XDG_CONFIG_HOME": abs, "XDG_STATE_HOME": abs, "XDG_CACHE_HOME": abs, "RYE_USER": "u"}))
	if p.Config != filepath.Join(abs, "rye") || p.User != filepath.Join(dir, "u") || p.Project != "" {
		t.Errorf("places = %+v", p)
	}
	q := findPlaces(dir, "", env(map[string]string{"XDG_CONFIG_HOME": "relative", "USER_SPACE": abs}))
	if strings.Contains(q.Config, "relative") || q.User != abs {
		t.Errorf("places = %+v", q)
	}
}

func TestTokenReachesItsHostOnly(t *testing.T) {
	a := &App{getenv: env(map[string]string{"RYE_TOKEN_GIT_CORP_COM": "dots", "RYE_TOKEN_GIT__CORP_COM___8443": "port", "": "nameless"})}
	for host, want := range map[string]string{
		"git.corp.com": "dots", "GIT.corp.com": "dots",
		"git-corp.com:8443": "port",
		"git-corp.com":      "", // got the token of git.corp.com once
		"git.corp.com:8443": "", "git-corp.com:84": "", "git.corp-com": "", "git_corp_com": "", "[::1]": "", "[::1]:8443": "", "": "",
	} {
		if got := a.token(host); got != want {
			t.Errorf("token for %q = %q, want %q", host, got, want)
		}
	}
}

// FuzzPrintableWriter: however the bytes arrive, the result is that of Printable
// over all of them, and nothing in it is hidden.
func FuzzPrintableWriter(f *testing.F) {
	f.Add("a\r\nb\xf0\x9f\x8c\xbe\x1b[m\xff", 3)
	f.Fuzz(func(t *testing.T, s string, cut int) {
		if cut < 1 {
			cut = 1
		}
		var b bytes.Buffer
		w := PrintableWriter(&b)
		for rest := s; rest != ""; {
			n := min(cut, len(rest))
			if _, err := w.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		w.Flush()
		if got := b.String(); got != words.Printable(s) {
			t.Errorf("in pieces of %d: %q, want %q", cut, got, words.Printable(s))
		}
		if !utf8.Valid(b.Bytes()) || strings.IndexFunc(b.String(), words.Hidden) >= 0 {
			t.Errorf("%q is not fit to show", b.String())
		}
	})
}

func TestEngineRefusesAnotherBuild(t *testing.T) {
	if exit := EngineMain([]string{"rye-engine", "--for", "another", "mcp"}, nil, nil); exit != 4 {
		t.Errorf("exit %d, want 4", exit)
	}
	if exit := EngineMain([]string{"rye-engine", "mcp"}, nil, nil); exit != 2 {
		t.Errorf("called by hand: exit %d, want 2", exit)
	}
}

// TestCompanions: every program of cmd but the front is known to it, so that rye doctor
// looks at each.
func TestCompanions(t *testing.T) {
	dirs, err := os.ReadDir("../../cmd")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, d := range dirs {
		if d.IsDir() && d.Name() != frontName {
			want = append(want, d.Name())
		}
	}
	if !slices.Equal(companions, want) {
		t.Errorf("companions %q, in cmd there are %q", companions, want)
	}
}

// TestProgressLine: whatever is written next to it finds the line wiped.
func TestProgressLine(t *testing.T) {
	var out, errs bytes.Buffer
	s := &Screen{out: &out, err: &errs, ErrTTY: true}
	show := s.progressFunc(false)
	show("reading \x1b[2J" + strings.Repeat("x", 100))
	s.Out().Write([]byte("result\n"))
	s.Done()
	shown := errs.String()
	if !strings.HasPrefix(shown, `reading \u001b[2J`) || strings.ContainsRune(shown, '\x1b') || !strings.HasSuffix(shown, "\r") {
		t.Errorf("the progress line was drawn as %q", shown)
	}
	if line, wipe, _ := strings.Cut(shown, "\r"); len(line) > 80 || len(strings.TrimSuffix(wipe, "\r")) != len([]rune(line)) {
		t.Errorf("%q is too long, or not wiped", shown)
	}
	if out.String() != "result\n" {
		t.Errorf("printed %q", out.String())
	}
	if s.progressFunc(true) != nil || (&Screen{}).progressFunc(false) != nil {
		t.Error("progress is shown where nobody wants or sees it")
	}
}

// TestWorking: a command that shows nothing for long says that it works, and no more once
// something was shown; nobody is told in a pipe or on a terminal that cannot go back.
func TestWorking(t *testing.T) {
	old := quietFor
	quietFor = time.Millisecond
	defer func() { quietFor = old }()
	var b syncBuffer
	s := &Screen{ErrTTY: true, out: &b, err: &b}
	stop := s.Working("verify")
	for !strings.Contains(b.String(), "verify: working, 0 s") {
		time.Sleep(time.Millisecond)
	}
	io.WriteString(s.Out(), "ok\n")
	stop()
	if got := b.String(); !strings.HasSuffix(got, "\rok\n") {
		t.Errorf("shown: %q", got)
	}
	for _, s := range []*Screen{{out: &b, err: &b}, {ErrTTY: true, dumb: true, out: &b, err: &b}} {
		before := b.String()
		stop := s.Working("verify")
		time.Sleep(5 * time.Millisecond)
		if stop(); b.String() != before {
			t.Errorf("%+v: shown: %q", s, b.String()[len(before):])
		}
	}
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
