package driver

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
)

// TestWithoutSection: only a whole section that rye wrote goes, and every other byte stays.
func TestWithoutSection(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths of another system")
	}
	line, _ := Line("/usr/bin/rye")
	former, _ := Line("/opt/rye/rye")
	own, old := withSection("", line), withSection("", former)
	for name, tc := range map[string]struct{ config, want string }{
		"nothing else":        {own, ""},
		"at the end":          {"[core]\n\tbare = false\n" + own, "[core]\n\tbare = false\n"},
		"between":             {"[core]\n\tbare = false\n" + own + "[a]\n\tb = c\n", "[core]\n\tbare = false\n[a]\n\tb = c\n"},
		"of a former program": {old + "[a]\n\tb = c\n" + own, "[a]\n\tb = c\n"},
		"a comment follows":   {own + "\n# mine\n; too\n[a]\n", "\n# mine\n; too\n[a]\n"},
		"a further key":       {own + "\tgreat = true\n", own + "\tgreat = true\n"},
		"a further key later": {own + "# mine\n\tgreat = true\n[a]\n", own + "# mine\n\tgreat = true\n[a]\n"},
		"another program":     {strings.Replace(own, line, "x "+line, 1), strings.Replace(own, line, "x "+line, 1)},
		"another name":        {strings.Replace(own, title, "mine", 1), strings.Replace(own, title, "mine", 1)},
		"windows line ends":   {strings.ReplaceAll(own, "\n", "\r\n"), strings.ReplaceAll(own, "\n", "\r\n")},
		"a key is missing":    {strings.TrimSuffix(own, "\trecursive = text\n"), strings.TrimSuffix(own, "\trecursive = text\n")},
		"cut off":             {strings.TrimSuffix(own, "\n"), strings.TrimSuffix(own, "\n")},
		"in a value":          {"[a]\n\tb = c \\\n" + own, "[a]\n\tb = c \\\n" + own},
		"another driver":      {"[merge \"rye2\"]\n\tdriver = x\n", "[merge \"rye2\"]\n\tdriver = x\n"},
	} {
		if got := withoutSection(tc.config); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestWithoutLines: whole lines of rye's go, and a line like one of them stays and counts.
func TestWithoutLines(t *testing.T) {
	all := strings.Join(attributes, "\n")
	for name, tc := range map[string]struct {
		text, want string
		others     bool
	}{
		"nothing else":     {all + "\n", "", false},
		"no end":           {all, "", false},
		"among others":     {"*.png binary\n" + all + "\n# mine\n", "*.png binary\n# mine\n", false},
		"indented":         {" " + attributes[0] + "\n", " " + attributes[0] + "\n", true},
		"with more":        {attributes[0] + " text\n" + all + "\n", attributes[0] + " text\n", true},
		"windows line end": {attributes[0] + "\r\n", attributes[0] + "\r\n", true},
		"mine":             {"*.md merge=rye\n", "*.md merge=rye\n", true},
		"a comment":        {"# " + attributes[0] + "\n", "# " + attributes[0] + "\n", false},
		"another driver":   {"*.md merge=rye2\n", "*.md merge=rye2\n", false},
	} {
		if got, others := withoutLines(tc.text); got != tc.want || others != tc.others {
			t.Errorf("%s: %q, %v, want %q, %v", name, got, others, tc.want, tc.others)
		}
	}
}

// repository makes a repository and the driver in it.
func repository(t *testing.T, config, info string) (top string, files [2]string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("paths of another system")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	testkit.Must(t, err)
	git := filepath.Join(top, "repo", ".git")
	files = [2]string{filepath.Join(git, "config"), filepath.Join(git, "info", "attributes")}
	testkit.WriteFile(t, files[0], config, 0o644)
	testkit.WriteFile(t, filepath.Join(git, "HEAD"), "ref: refs/heads/main\n", 0o644)
	if info != "" {
		testkit.WriteFile(t, files[1], info, 0o644)
	}
	program := filepath.Join(top, "bin", "rye")
	testkit.WriteFile(t, program, "", 0o755)
	s := state(t, top)
	plan, err := s.Plan(program)
	testkit.Must(t, err)
	testkit.Must(t, s.Write(program, plan))
	return top, files
}

func state(t *testing.T, top string) State {
	t.Helper()
	s, err := Look(filepath.Join(top, "repo"), "")
	testkit.Must(t, err)
	return s
}

const plainConfig = "[core]\n\trepositoryformatversion = 0\n"

// TestRemove: what Write wrote goes, the other bytes come back, and a second time there is nothing
// to do.
func TestRemove(t *testing.T) {
	for _, info := range []string{"", "*.png binary\n"} {
		top, files := repository(t, plainConfig, info)
		s := state(t, top)
		list, remains, err := s.Removal()
		if err != nil || remains != "" || len(list) != 2 || list[0].Path != files[1] || list[1].Path != files[0] {
			t.Fatalf("%+v, %q, %v", list, remains, err)
		}
		testkit.Must(t, s.Remove(list))
		if got := testkit.ReadFile(t, files[0]); got != plainConfig {
			t.Errorf("the configuration is %q", got)
		}
		raw, err := os.ReadFile(files[1])
		if string(raw) != info || (err == nil) != (info != "") {
			t.Errorf("the attributes are %q, %v", raw, err)
		}
		if list, remains, err = state(t, top).Removal(); len(list) > 0 || remains != "" || err != nil {
			t.Errorf("a second time: %+v, %q, %v", list, remains, err)
		}
	}
}

// TestRemoveInterrupted: whatever stops a removal, no attribute is without a driver, and the next
// removal finishes.
func TestRemoveInterrupted(t *testing.T) {
	top, files := repository(t, plainConfig, "")
	s := state(t, top)
	list, _, err := s.Removal()
	testkit.Must(t, err)
	testkit.WriteFile(t, files[0]+".lock", "", 0o644) // another git holds it
	if err := s.Remove(list); !fault.Is(err, fault.Conflict) {
		t.Fatalf("removed beside another git: %v", err)
	}
	if s = state(t, top); s.Program == "" || s.Attributes {
		t.Errorf("after the interruption: %+v", s)
	}
	testkit.Must(t, os.Remove(files[0]+".lock"))
	list, _, err = s.Removal()
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	testkit.WriteFile(t, files[0], list[0].Old+"# meanwhile\n", 0o644)
	if err := s.Remove(list); !fault.Is(err, fault.Conflict) || !strings.HasSuffix(testkit.ReadFile(t, files[0]), "# meanwhile\n") {
		t.Errorf("removed what changed meanwhile: %v", err)
	}
	list, _, err = state(t, top).Removal()
	testkit.Must(t, err)
	testkit.Must(t, s.Remove(list))
	if got := testkit.ReadFile(t, files[0]); got != plainConfig+"# meanwhile\n" {
		t.Errorf("the configuration is %q", got)
	}
}

// TestRemains: a driver or an attribute that rye did not write stays and is named.
func TestRemains(t *testing.T) {
	top, _ := repository(t, plainConfig+"[merge \"rye\"] driver = x\n", "")
	s := state(t, top)
	list, remains, err := s.Removal()
	if err != nil || len(list) != 2 || !strings.Contains(remains, "that rye did not write") {
		t.Fatalf("%+v, %q, %v", list, remains, err)
	}
	testkit.Must(t, s.Remove(list))
	if s = state(t, top); s.Line != "x" {
		t.Errorf("their driver is %q", s.Line)
	}
	two, files := repository(t, plainConfig, "*.md merge=rye\n")
	s = state(t, two)
	list, remains, err = s.Removal()
	if err != nil || len(list) != 1 || !strings.Contains(remains, "merge=rye") {
		t.Fatalf("%+v, %q, %v", list, remains, err)
	}
	testkit.Must(t, s.Remove(list))
	if got := testkit.ReadFile(t, files[1]); got != "*.md merge=rye\n" || state(t, two).Program == "" {
		t.Errorf("the attributes are %q", got)
	}
}

// TestRemoveFollowsNoLink: a file that is a link is not read, and not replaced.
func TestRemoveFollowsNoLink(t *testing.T) {
	top, files := repository(t, plainConfig, "")
	elsewhere := filepath.Join(top, "elsewhere")
	text := testkit.ReadFile(t, files[1])
	testkit.WriteFile(t, elsewhere, text, 0o644)
	s := state(t, top)
	list, _, err := s.Removal()
	testkit.Must(t, err)
	testkit.Must(t, os.Remove(files[1]))
	testkit.Must(t, os.Symlink(elsewhere, files[1]))
	if err := s.Remove(list); err == nil {
		t.Error("removed through a link")
	}
	if _, _, err := s.Removal(); !fault.Is(err, fault.Malformed) {
		t.Errorf("planned through a link: %v", err)
	}
	if got := testkit.ReadFile(t, elsewhere); got != text {
		t.Errorf("the link's target is %q", got)
	}
}
