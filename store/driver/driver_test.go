package driver

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rye-os/rye/store"
)

// TestLine: only paths that git's configuration, its placeholders and sh all read as they are.
func TestLine(t *testing.T) {
	for p, written := range map[string]string{
		"/usr/bin/rye": "/usr/bin/rye", "/home/a b/.local/rye-1.0_x+y@z/rye": "/home/a b/.local/rye-1.0_x+y@z/rye", "/C:/rye": "/C:/rye",
		"/Users/ann/Library/Application Support/rye/rye": "/Users/ann/Library/Application Support/rye/rye",
		`C:\Program Files\rye\rye.exe`:                   "C:/Program Files/rye/rye.exe",
		"d:/go/bin/rye.exe":                              "d:/go/bin/rye.exe",
		`\\host\share\rye.exe`:                           "//host/share/rye.exe",
	} {
		line, err := Line(p)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := programOf(line); !ok || got != written || strings.Count(line, "'"+written+"'") != 3 {
			t.Errorf("%s: %q %v in %s", p, got, ok, line)
		}
		c, err := store.ParseRepoConfig(withSection("[core]\n\tbare = false", line))
		if err != nil || c.MergeDriver != line {
			t.Errorf("%s is read as %q, %v", p, c.MergeDriver, err)
		}
		if _, ok := programOf(line + " # more"); ok {
			t.Error("another line counts as ours")
		}
	}
	for _, p := range []string{"rye", "/a'b", `/a"b`, "/100%Prod/rye", "/a$(b)", "/a`b", "/a;b", "/a\nb", `/a\b`, `C:rye.exe`, `C:\a;b\rye.exe`, `C:\a'b\rye.exe`, `\rye.exe`, "C:", "/é", "/a#b", ""} {
		if line, err := Line(p); err == nil {
			t.Errorf("%q gives %s", p, line)
		}
	}
}

// TestWithSection: rye's section is written once, at the end, and every other byte stays.
func TestWithSection(t *testing.T) {
	line, _ := Line("/usr/bin/rye")
	other := "[core]\n\tbare = false\n[merge \"rye\"] driver = x\n[merge \"other\"]\n\tdriver = y\n"
	once := withSection(other, line)
	if !strings.HasPrefix(once, other) || withSection(once, line) != once {
		t.Errorf("%s", once)
	}
	if c, err := store.ParseRepoConfig(once); err != nil || c.MergeDriver != line {
		t.Errorf("an earlier line counts more: %q, %v", c.MergeDriver, err)
	}
	between := "[a]\n\tb = c\n" + section + "\n\tdriver = old\n[d]\n\te = f\n"
	if got := withSection(between, line); !strings.HasPrefix(got, "[a]\n\tb = c\n[d]\n\te = f\n"+section) {
		t.Errorf("%s", got)
	}
}

// TestPlan: a program in the tree, or in any project, is never git's driver.
func TestPlan(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths of another system")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	make := func(p, text string) string {
		p = filepath.Join(top, p)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return p
	}
	make("repo/.git/config", "[core]\n\trepositoryformatversion = 0\n")
	make("repo/.git/HEAD", "ref: refs/heads/main\n")
	make("other/.ai/rye.yaml", "")
	s, err := Look(filepath.Join(top, "repo"), "")
	if err != nil || s.Line != "" || s.Attributes {
		t.Fatalf("%+v, %v", s, err)
	}
	good := make("bin/rye", "")
	link := filepath.Join(top, "bin", "linked")
	if err := os.Symlink(make("repo/tools/rye", ""), link); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{filepath.Join(top, "repo/tools/rye"), make("other/bin/rye", ""), link, filepath.Join(top, "bin/none")} {
		if plan, err := s.Plan(p); err == nil {
			t.Errorf("%s: %+v", p, plan)
		}
	}
	plan, err := s.Plan(good)
	if err != nil || len(plan) != 2 {
		t.Fatalf("%+v, %v", plan, err)
	}
	held := make("repo/.git/config.lock", "")
	if err := s.Write(good, plan); err == nil {
		t.Error("wrote although another git holds the file")
	}
	if err := os.Remove(held); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(good, plan); err != nil {
		t.Fatal(err)
	}
	if s, err = Look(filepath.Join(top, "repo"), ""); err != nil || !s.Ready(good) {
		t.Errorf("%+v, %v", s, err)
	}
	if plan, err := s.Plan(good); err != nil || len(plan) != 0 {
		t.Errorf("not once: %+v, %v", plan, err)
	}
}
