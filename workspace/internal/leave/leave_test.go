package leave

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/store/records"
	"github.com/rye-os/rye/workspace/internal/session"
)

const projectID = "3f0c9a1b8c2d4e5f60718293a4b5c6d7"

// machine is a user's machine with one recorded project.
type machine struct {
	*session.Host
	*testing.T
	record records.Place
	asked  []rye.Question
	no     bool
}

func newMachine(t *testing.T) *machine {
	top, err := filepath.EvalSymlinks(t.TempDir())
	testkit.Must(t, err)
	m := &machine{T: t}
	m.Host = &session.Host{
		Home:    filepath.Join(top, "home"),
		Dirs:    session.Dirs{ConfigDir: filepath.Join(top, "home", "config"), StateDir: filepath.Join(top, "home", "state"), CacheDir: filepath.Join(top, "home", "cache")},
		Records: records.Open(filepath.Join(top, "home", "data")),
		Now:     time.Now,
		Consent: func(_ context.Context, q rye.Question) (bool, error) {
			m.asked = append(m.asked, q)
			return !m.no, nil
		},
	}
	project := filepath.Join(top, "project")
	m.write(filepath.Join(project, ".ai", session.ProjectFile))
	m.write(filepath.Join(m.CacheDir, "hosts", "x"))
	m.write(filepath.Join(m.StateDir, "registries", "x"))
	for _, name := range []string{"trust.yaml", "trust.yaml.lock", "logged/x", "keys/default", "secrets.yaml", "threads.key"} {
		m.write(filepath.Join(m.ConfigDir, filepath.FromSlash(name)))
	}
	m.record, err = m.Records.At(nil, project, projectID)
	testkit.Must(t, err)
	testkit.Must(t, m.record.Note(m.Now()))
	return m
}

func (m *machine) write(path string) { m.Helper(); testkit.WriteFile(m, path, "text", 0o600) }

func (m *machine) uninstall(q rye.UninstallRequest) *rye.UninstallReport {
	m.Helper()
	rep, err := Uninstall(m.Context(), m.Host, q)
	testkit.Must(m, err)
	return rep
}

// state returns the status of a path in a report; "" where it has none.
func state(rep *rye.UninstallReport, path string) string {
	for _, p := range rep.Parts {
		if p.Path == path {
			return p.Status
		}
	}
	return ""
}

// TestNamedParts: the cache always goes, and records, keys and secrets go only by name.
func TestNamedParts(t *testing.T) {
	for _, q := range []rye.UninstallRequest{{}, {Records: true}, {Keys: true}, {Records: true, Keys: true}} {
		m := newMachine(t)
		rep := m.uninstall(q)
		for path, goes := range map[string]bool{
			m.CacheDir: true, m.StateDir: q.Records, m.Records.Dir(): q.Records, m.TrustPath(): q.Records, m.TrustPath() + ".lock": q.Records,
			m.UserFile("logged"): q.Records, m.KeyDir(): q.Keys, m.UserFile("secrets.yaml"): q.Keys, m.UserFile("threads.key"): q.Keys,
		} {
			if want := map[bool]string{true: rye.PartRemoved, false: rye.PartKept}[goes]; state(rep, path) != want || exists(path) == goes {
				t.Errorf("%+v: %s is %q, want %q", q, path, state(rep, path), want)
			}
		}
		gone := slices.DeleteFunc(rep.Parts, func(p rye.UninstallPart) bool { return p.Status != rye.PartRemoved })
		if i := slices.IndexFunc(gone, func(p rye.UninstallPart) bool { return p.What == keysPart }); i >= 0 && i != len(gone)-3 {
			t.Errorf("%+v: the keys and secrets are not the last parts: %+v", q, gone)
		}
		if exists(m.ConfigDir) == (q.Keys && q.Records) || !exists(filepath.Join(m.record.Path, ".ai", session.ProjectFile)) {
			t.Errorf("%+v: the configuration directory or the project", q)
		}
		if again := m.uninstall(q); again.Removes() != 0 || len(m.asked) != 1 {
			t.Errorf("%+v: a second time %+v, asked %d times", q, again.Parts, len(m.asked))
		}
	}
}

// TestStrangeFile: a file that is not rye's stays, and so does its directory.
func TestStrangeFile(t *testing.T) {
	m := newMachine(t)
	strange := m.UserFile("letter.txt")
	m.write(strange)
	rep := m.uninstall(rye.UninstallRequest{Records: true, Keys: true})
	if state(rep, strange) != rye.PartLeft || !exists(strange) || exists(m.KeyDir()) {
		t.Errorf("%+v", rep.Parts)
	}
}

// TestDeclined: a no, a dry run and a lack of anybody to ask change nothing.
func TestDeclined(t *testing.T) {
	m := newMachine(t)
	all := rye.UninstallRequest{Records: true, Keys: true}
	m.no = true
	if rep, err := Uninstall(t.Context(), m.Host, all); !fault.Is(err, fault.Denied) || rep != nil || !exists(m.CacheDir) {
		t.Errorf("declined: %+v, %v", rep, err)
	}
	if got := strings.Join(m.asked[0].Lines, "\n"); !strings.Contains(got, m.KeyDir()) || !strings.Contains(got, m.CacheDir) {
		t.Errorf("the question lists %s", got)
	}
	dry := all
	dry.DryRun = true
	if rep := m.uninstall(dry); rep.Removes() < 5 || !exists(m.CacheDir) || len(m.asked) != 1 {
		t.Errorf("a dry run: %+v", rep)
	}
	m.Consent = nil
	if _, err := Uninstall(t.Context(), m.Host, all); !fault.Is(err, fault.Denied) || fault.HintOf(err).String() != "rye self uninstall --keys --records --yes" || !exists(m.KeyDir()) {
		t.Errorf("nobody to ask: %v, %v", err, fault.HintOf(err))
	}
}

// TestNotAlone: a directory that is a link, or that holds something else, stays.
func TestNotAlone(t *testing.T) {
	for name, prepare := range map[string]func(m *machine){
		"a link": func(m *machine) {
			testkit.Must(m, os.Rename(m.CacheDir, m.CacheDir+"2"))
			testkit.Must(m, os.Symlink(m.CacheDir+"2", m.CacheDir))
		},
		"a repository":              func(m *machine) { m.write(filepath.Join(m.CacheDir, ".git", "HEAD")) },
		"items":                     func(m *machine) { m.write(filepath.Join(m.CacheDir, ".ai", "x")) },
		"in a project":              func(m *machine) { m.write(filepath.Join(m.Home, ".ai", session.ProjectFile)) },
		"the records":               func(m *machine) { m.CacheDir = m.Records.Dir() },
		"the records, further down": func(m *machine) { m.CacheDir = m.Home },
		"the keys": func(m *machine) {
			m.CacheDir = m.ConfigDir
			testkit.Must(m, os.Symlink(m.ConfigDir, m.Home+"/other"))
		},
		"the project": func(m *machine) { m.CacheDir, m.ProjectDir = filepath.Dir(m.record.Path), m.record.Path },
	} {
		m := newMachine(t)
		prepare(m)
		rep := m.uninstall(rye.UninstallRequest{DryRun: true})
		i := slices.IndexFunc(rep.Parts, func(p rye.UninstallPart) bool { return p.What == cachePart })
		if i < 0 || rep.Parts[i].Status != rye.PartLeft || rep.Parts[i].Text == "" || rep.Removes() != 0 {
			t.Errorf("%s: %+v", name, rep.Parts)
		}
	}
}

// TestRemoveAll: no link is followed, and directories without write permission go.
func TestRemoveAll(t *testing.T) {
	m := newMachine(t)
	outside := filepath.Join(m.Home, "outside", "x")
	m.write(outside)
	testkit.Must(t, os.Symlink(filepath.Dir(outside), filepath.Join(m.CacheDir, "link")))
	m.write(filepath.Join(m.CacheDir, "a", "b", "c"))
	for _, dir := range []string{"a/b", "a"} {
		testkit.Must(t, os.Chmod(filepath.Join(m.CacheDir, filepath.FromSlash(dir)), 0o500))
	}
	if rep := m.uninstall(rye.UninstallRequest{}); rep.Removes() != 1 || exists(m.CacheDir) || !exists(outside) {
		t.Errorf("%+v", rep.Parts)
	}
}

// TestRecordedElsewhere: a directory of another machine, one that is missing and one whose path
// leads elsewhere are reported, and stop nothing.
func TestRecordedElsewhere(t *testing.T) {
	m := newMachine(t)
	top := filepath.Dir(m.Home)
	foreign := records.Place{Key: "foreign", Path: m.record.Path, Project: projectID, Machine: "0123456789abcdef0123456789abcdef", UID: m.record.UID, Dir: filepath.Join(m.Records.Dir(), "records", "foreign")}
	testkit.Must(t, foreign.Note(m.Now()))
	paths := map[string]string{}
	for _, name := range []string{"missing", "moved"} {
		paths[name] = filepath.Join(top, name)
		testkit.Must(t, os.Mkdir(paths[name], 0o755))
		p, err := m.Records.At(nil, paths[name], projectID)
		testkit.Must(t, err)
		testkit.Must(t, p.Note(m.Now()))
		testkit.Must(t, os.Remove(paths[name]))
	}
	testkit.Must(t, os.Symlink(m.record.Path, paths["moved"]))
	rep := m.uninstall(rye.UninstallRequest{})
	var said []string
	for _, p := range rep.Parts {
		if p.What == driverPart && p.Status == rye.PartLeft {
			said = append(said, p.Text)
		}
	}
	slices.Sort(said)
	want := []string{"another machine or user recorded it", "the directory is missing", "the path leads to " + m.record.Path + " now"}
	if !slices.Equal(said, want) || exists(m.CacheDir) {
		t.Errorf("%q, want %q", said, want)
	}
}

// TestOfAnother: a repository of another user is reported, and stops nothing.
func TestOfAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	m := newMachine(t)
	git := filepath.Join(m.record.Path, ".git")
	config := filepath.Join(git, "config")
	m.write(filepath.Join(git, "HEAD"))
	testkit.WriteFile(t, config, "[merge \"rye\"]\n\tdriver = x\n", 0o644)
	testkit.Must(t, os.Chown(git, 61_238, 61_238))
	rep := m.uninstall(rye.UninstallRequest{})
	i := slices.IndexFunc(rep.Parts, func(p rye.UninstallPart) bool { return p.What == driverPart })
	if i < 0 || rep.Parts[i].Status != rye.PartLeft || !strings.Contains(rep.Parts[i].Text, "61238") || exists(m.CacheDir) {
		t.Errorf("%+v", rep.Parts)
	}
}

// TestInUse: while a thread or a server works, nothing is removed, and the error says what stops
// it. A killed server stops nobody.
func TestInUse(t *testing.T) {
	m := newMachine(t)
	id := "01jm8n3q0000000000000000ab"
	lease := filepath.Join(m.record.Dir, "threads", id, "lease")
	m.write(lease)
	release, err := place.Lock(t.Context(), lease)
	testkit.Must(t, err)
	rep, err := Uninstall(t.Context(), m.Host, rye.UninstallRequest{})
	if !fault.Is(err, fault.Conflict) || rep != nil || fault.HintOf(err).String() != "rye -C "+m.record.Path+" thread cancel "+id || !exists(m.CacheDir) {
		t.Errorf("beside a thread: %+v, %v, %v", rep, err, fault.HintOf(err))
	}
	if rep, err = Uninstall(t.Context(), m.Host, rye.UninstallRequest{DryRun: true}); !fault.Is(err, fault.Conflict) || rep.Removes() != 1 {
		t.Errorf("a dry run beside a thread: %+v, %v", rep, err)
	}
	release()

	end := Serving(m.Host, "rye mcp serve --http 127.0.0.1:1")
	if rep, err = Uninstall(t.Context(), m.Host, rye.UninstallRequest{}); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "--http 127.0.0.1:1") || !exists(m.CacheDir) {
		t.Errorf("beside a server: %+v, %v", rep, err)
	}
	end()
	killed := filepath.Join(m.ServingDir(), "1-killed")
	m.write(killed)
	hour := m.Now().Add(-time.Hour)
	testkit.Must(t, os.Chtimes(killed, hour, hour))
	if left := inUse(m.Host); left != nil {
		t.Errorf("after a server's end: %v", left)
	}
	Serving(m.Host, "rye mcp")()
	if exists(killed) {
		t.Error("the next server keeps the note of a killed one")
	}
	if m.uninstall(rye.UninstallRequest{}); exists(m.CacheDir) || len(m.asked) != 1 {
		t.Errorf("asked %+v", m.asked)
	}
}
