package trust

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects"
)

// full returns a store in which every field holds something.
func full(t testing.TB) *Store {
	st := bound(t, newKey(t), BoundKey{Key: newKey(t).Public(), State: Current}, BoundKey{Key: newKey(t).Public(), State: Retired}, BoundKey{Key: newKey(t).Public(), State: Revoked})
	must(t, st.AddOwn(newKey(t).Public(), "second", "mine", "ours"))
	must(t, st.Pin(Pin{Key: newKey(t).Public(), Name: "Bob: \"the builder\"", Namespaces: []string{"tools", "bob"}}))
	must(t, st.DenyKey(newKey(t).Public().Fingerprint(), "laptop lost in Győr"))
	must(t, st.DenyDigest(objects.Digest{7}, "- {evil}: #1"))
	here := inA.Site()
	must(t, st.Grant(noon, inB.Site().OwnKeys(), Site{Place: placeB}.Registry(regOne, "https://one.example/r.git"), Site{Place: placeB}.Scope("*", regOne)))
	must(t, st.Grant(noon.Add(time.Hour), here.Signer("tools", newKey(t).Public()), here.Registry(regTwo, "git@two.example:r.git"), here.Scope("acme", regTwo),
		here.Override(objects.Ref{Kind: objects.Tool, ID: "rye/core/runtimes/python"}, root), here.Owner(1000)))
	st.SetAllowLegacy(true)
	return st
}

func TestStoreSavedAndLoaded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rye", "trust.yaml")
	empty, err := LoadStore(path)
	if err != nil || len(empty.Own()) != 0 {
		t.Fatalf("missing file: %v", err)
	}
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Error("reading made a directory")
	}
	st := full(t)
	st.path = path
	must(t, locked(path, st.save))
	got, err := LoadStore(path)
	must(t, err)
	a, _ := st.Encode()
	b, _ := got.Encode()
	if !bytes.Equal(a, b) || !bytes.HasPrefix(a, []byte("# Whom you believe.")) {
		t.Errorf("saved\n%s\nloaded\n%s", a, b)
	}
	ea, _ := st.Epoch()
	eb, _ := got.Epoch()
	if ea != eb || ea.IsZero() {
		t.Errorf("epochs %v and %v", ea, eb)
	}
	if runtime.GOOS != "windows" {
		for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
			if fi, err := os.Stat(p); err != nil || fi.Mode().Perm() != want {
				t.Errorf("mode of %s: %v, want %o", p, fi.Mode(), want)
			}
		}
	}
	for name, n := range map[string]int{"own": len(got.Own()), "pins": len(got.Pins()), "grants": len(got.Grants()),
		"registries": len(got.Registries()), "bindings": len(got.Bindings()), "denials": len(got.Denials())} {
		if n == 0 {
			t.Errorf("no %s came back", name)
		}
	}
}

// TestSaveSeesOtherWriters: what is written loses nobody's change.
func TestSaveSeesOtherWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trust.yaml")
	a, err := LoadStore(path)
	must(t, err)
	must(t, Update(path, func(s *Store) error { return s.Grant(noon, inA.Site().OwnKeys()) }))
	must(t, a.Grant(noon, inB.Site().OwnKeys()))
	if err := locked(path, a.save); !fault.Is(err, fault.Conflict) {
		t.Errorf("save over another's change = %v, want conflict", err)
	}
	stop := errors.New("stop")
	before, _ := os.ReadFile(path)
	if err := Update(path, func(s *Store) error { s.SetAllowLegacy(true); return stop }); !errors.Is(err, stop) {
		t.Errorf("Update = %v", err)
	}
	must(t, Update(path, func(*Store) error { return nil }))
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("a change that failed, or none, was written")
	}
	if err := Update("", func(*Store) error { return nil }); !fault.Is(err, fault.Usage) {
		t.Errorf("Update without a file = %v", err)
	}
}

// TestUpdateAcrossProcesses: eight processes, each adding its own, lose nothing.
func TestUpdateAcrossProcesses(t *testing.T) {
	const each = 5
	if path := os.Getenv("RYE_TEST_TRUST"); path != "" { // the child
		for i := range each {
			id := fmt.Sprintf("%s%030d", os.Getenv("RYE_TEST_WHO"), i)
			if err := Update(path, func(s *Store) error { return s.Grant(noon, Site{placeA, id}.OwnKeys()) }); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	path := filepath.Join(t.TempDir(), "trust.yaml")
	var children []*exec.Cmd
	for i := range 8 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestUpdateAcrossProcesses$")
		cmd.Env = append(os.Environ(), "RYE_TEST_TRUST="+path, fmt.Sprintf("RYE_TEST_WHO=%02d", i))
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		must(t, cmd.Start())
		children = append(children, cmd)
		defer func() {
			if t.Failed() {
				t.Logf("%s", out.String())
			}
		}()
	}
	for _, c := range children {
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
	st, err := LoadStore(path)
	must(t, err)
	if n := len(st.Grants()); n != 8*each {
		t.Errorf("%d of %d changes are there", n, 8*each)
	}
}

// TestUpdateKilled: a writer that is killed loses nothing that it was told is
// kept, and leaves no lock behind.
func TestUpdateKilled(t *testing.T) {
	if path := os.Getenv("RYE_TEST_KILLED"); path != "" { // the child writes until it is killed
		for i := 0; ; i++ {
			id := fmt.Sprintf("%s%030x", os.Getenv("RYE_TEST_WHO"), i)
			if err := Update(path, func(s *Store) error { return s.Grant(noon, Site{placeA, id}.OwnKeys()) }); err != nil {
				t.Fatal(err)
			}
			fmt.Println("kept", id)
		}
	}
	path := filepath.Join(t.TempDir(), "trust.yaml")
	kills := 4
	if os.Getenv("RYE_SOAK") != "" {
		kills = 100
	}
	for i := range kills {
		cmd := exec.Command(os.Args[0], "-test.run=^TestUpdateKilled$")
		cmd.Env = append(os.Environ(), "RYE_TEST_KILLED="+path, fmt.Sprintf("RYE_TEST_WHO=%02x", i))
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		var kept []string
		for lines := bufio.NewScanner(out); lines.Scan(); {
			id, ok := strings.CutPrefix(lines.Text(), "kept ")
			if !ok {
				t.Errorf("the child says %q", lines.Text())
			}
			if kept = append(kept, id); len(kept) == 3+i%3 {
				cmd.Process.Kill()
			}
		}
		cmd.Wait()
		st, err := LoadStore(path)
		must(t, err)
		for _, id := range kept {
			if !st.Accepted(Site{placeA, id}) {
				t.Errorf("kill %d: %s was acknowledged and is lost", i, id)
			}
		}
	}
	unlock, err := lockFor(path+".lock", 0)
	must(t, err)
	unlock()
}

// TestLockIsHeld: a second writer waits, and gives up in words.
func TestLockIsHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lockFor(path, 0)
	must(t, err)
	if _, err := lockFor(path, 0); !fault.Is(err, fault.Conflict) {
		t.Errorf("second lock = %v, want conflict", err)
	}
	unlock()
	unlock, err = lockFor(path, 0)
	must(t, err)
	unlock()
}

func TestStoreFileOthersMayWrite(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes mean nothing on Windows")
	}
	path := filepath.Join(t.TempDir(), "trust.yaml")
	testkit.WriteFile(t, path, "format: 1\n", 0o600)
	for _, mode := range []os.FileMode{0o620, 0o602, 0o666} {
		must(t, os.Chmod(path, mode))
		if _, err := LoadStore(path); !fault.Is(err, fault.Auth) || !strings.HasPrefix(fault.HintOf(err).String(), "chmod ") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	must(t, os.Chmod(path, 0o644))
	if _, err := LoadStore(path); err != nil {
		t.Errorf("a file that others may read: %v", err)
	}
	if _, err := LoadStore(filepath.Dir(path)); !fault.Is(err, fault.Malformed) {
		t.Errorf("a directory: %v", err)
	}
	testkit.WriteFile(t, path, strings.Repeat("#", storeMax+1), 0o600)
	if _, err := LoadStore(path); !fault.Is(err, fault.Limit) {
		t.Errorf("a large file: %v", err)
	}
}

// TestStoreThroughSymlink: a trust.yaml kept elsewhere stays there.
func TestStoreThroughSymlink(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.yaml"), filepath.Join(dir, "trust.yaml")
	testkit.WriteFile(t, real, "format: 1\n", 0o600)
	if err := os.Symlink(real, link); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	must(t, Update(link, func(s *Store) error { return s.Grant(noon, inA.Site().OwnKeys()) }))
	st, err := LoadStore(real)
	must(t, err)
	if fi, err := os.Lstat(link); err != nil || fi.Mode()&os.ModeSymlink == 0 || !st.Accepted(inA.Site()) {
		t.Errorf("the link was replaced: %v, %v", fi.Mode(), err)
	}
}

// badStores are texts that are not trust stores, by what is wrong.
func badStores(t testing.TB) map[string]string {
	k, l := newKey(t).Public().Authorized(), newKey(t).Public().Authorized()
	reg := "registries:\n  - id: " + regOne + "\n    roots: [" + root.String() + "]\n"
	bind := func(key, state string) string {
		return "namespaces:\n  acme:\n    registry: " + regOne + "\n    keys:\n      - key: " + key + "\n        state: " + state + "\n"
	}
	grants := func(place, project, kind, value, at string) string {
		return fmt.Sprintf("grants:\n  - {place: %q, project: %q, kind: %q, value: %q, at: %q}\n", place, project, kind, value, at)
	}
	const at = "2026-11-22T12:00:00Z"
	f := "format: 1\n"
	return map[string]string{
		"empty":                "",
		"no format":            "own: []\n",
		"format 2":             "format: 2\n",
		"unknown field":        f + "trust_everybody: true\n",
		"unknown inner field":  f + "own:\n  - key: " + k + "\n    admin: true\n",
		"field twice":          f + "format: 1\n",
		"two documents":        f + "---\nformat: 1\n",
		"anchor":               f + "grants: &a []\n",
		"key without type":     f + "own:\n  - key: AAAA\n",
		"same key twice":       f + "own:\n  - key: " + k + "\n  - key: " + k + "\n",
		"own and pinned":       f + "own:\n  - key: " + k + "\nkeys:\n  - key: " + k + "\n    namespaces: [acme]\n",
		"pin for nothing":      f + "keys:\n  - key: " + k + "\n    namespaces: []\n",
		"pin in a project":     f + "keys:\n  - key: " + k + "\n    namespaces: [acme]\n    user: true\n",
		"pin for rye":          f + "keys:\n  - key: " + k + "\n    namespaces: [rye]\n",
		"pin for a star":       f + "keys:\n  - key: " + k + "\n    namespaces: [\"*\"]\n",
		"grant twice":          f + grants(placeA, projectA, "project", "", at) + strings.TrimPrefix(grants(placeA, projectA, "project", "", at), "grants:\n"),
		"grant for nowhere":    f + grants("here", projectA, "project", "", at),
		"grant without id":     f + grants(placeA, "", "project", "", at),
		"grant of an id":       f + grants(placeA, "mine", "project", "", at),
		"grant without time":   f + grants(placeA, projectA, "project", "", ""),
		"grant at no hour":     f + grants(placeA, projectA, "project", "", "2026-11-22"),
		"grant elsewhere":      f + grants(placeA, projectA, "project", "", "2026-11-22T12:00:00+01:00"),
		"grant of anything":    f + grants(placeA, projectA, "everything", "", at),
		"project with a value": f + grants(placeA, projectA, "project", "x", at),
		"signer of nothing":    f + grants(placeA, projectA, "signer", k, at),
		"signer of a star":     f + grants(placeA, projectA, "signer", "* "+k, at),
		"signer of rye":        f + grants(placeA, projectA, "signer", "rye "+k, at),
		"signer with comment":  f + grants(placeA, projectA, "signer", "acme "+k+" bob", at),
		"signer by print":      f + grants(placeA, projectA, "signer", "acme "+root.String(), at),
		"registry nowhere":     f + grants(placeA, projectA, "registry", regOne, at),
		"registry by name":     f + grants(placeA, projectA, "registry", "main https://x", at),
		"scope of local":       f + grants(placeA, projectA, "scope", "local "+regOne, at),
		"scope to a name":      f + grants(placeA, projectA, "scope", "acme main", at),
		"override by nobody":   f + grants(placeA, projectA, "override", "tool:rye/x", at),
		"override of local":    f + grants(placeA, projectA, "override", "tool:local/x "+root.String(), at),
		"override of an id":    f + grants(placeA, projectA, "override", "rye/tool/x "+root.String(), at),
		"owner by name":        f + grants(placeA, projectA, "owner", "root", at),
		"owner below zero":     f + grants(placeA, projectA, "owner", "-1", at),
		"user space accepted":  f + grants(placeA, "", "signer", "acme "+k, at),
		"registry without id":  f + "registries:\n  - roots: [" + root.String() + "]\n",
		"registry, no roots":   f + "registries:\n  - id: " + regOne + "\n    roots: []\n",
		"root twice":           f + "registries:\n  - id: " + regOne + "\n    roots: [" + root.String() + ", " + root.String() + "]\n",
		"registry twice":       f + reg + strings.TrimPrefix(reg, "registries:\n"),
		"bound to nothing":     f + bind(k, "current"),
		"state":                f + reg + bind(k, "fine"),
		"no state":             f + reg + strings.Replace(bind(k, "x"), "        state: x\n", "", 1),
		"bound key twice":      f + reg + bind(k, "current") + "      - key: " + k + "\n        state: revoked\n",
		"bound rye":            f + reg + strings.Replace(bind(k, "current"), "acme", "rye", 1),
		"bound local":          f + reg + strings.Replace(bind(k, "current"), "acme", "local", 1),
		"claimed and bound":    f + "own:\n  - key: " + l + "\n    namespaces: [acme]\n" + reg + bind(k, "current"),
		"pinned and bound":     f + "keys:\n  - key: " + l + "\n    namespaces: [acme]\n" + reg + bind(k, "current"),
		"denial of nothing":    f + "deny:\n  - reason: none\n",
		"denial of both":       f + "deny:\n  - key: " + root.String() + "\n    digest: " + regOne + "\n",
		"denial of a word":     f + "deny:\n  - key: everybody\n",
		"allow_legacy a word":  f + "allow_legacy: sometimes\n",
		"a list":               "- format: 1\n",
		"name of two lines":    f + "own:\n  - key: " + k + "\n    name: \"a\\nb\"\n",
		"reason with a escape": f + "deny:\n  - key: " + root.String() + "\n    reason: \"\\e[31m\"\n",
	}
}

func TestStoreFileRefused(t *testing.T) {
	dir := t.TempDir()
	for name, text := range badStores(t) {
		path := filepath.Join(dir, "trust.yaml")
		testkit.WriteFile(t, path, text, 0o600)
		_, err := LoadStore(path)
		if c := fault.CodeOf(err); c != fault.Malformed {
			t.Errorf("%s: %v (%s), want malformed", name, err, c)
			continue
		}
		if err := Update(path, func(s *Store) error { return s.Grant(noon, inA.Site().OwnKeys()) }); err == nil {
			t.Errorf("%s: was overwritten", name)
		}
		if after, _ := os.ReadFile(path); string(after) != text {
			t.Errorf("%s: the file changed", name)
		}
	}
}

// TestDamagedStoresAsideAreAllKept: the hint of each moves its file to a place of its own.
func TestDamagedStoresAsideAreAllKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trust.yaml")
	at := map[string]string{}
	for _, text := range []string{"format: 1\nnonsense: 1\n", "format: 1\nnonsense: 2\n"} {
		testkit.WriteFile(t, path, text, 0o600)
		_, err := LoadStore(path)
		hint := fault.HintOf(err).String()
		to := hint[strings.LastIndexByte(hint, ' ')+1:]
		if !strings.HasPrefix(hint, "mv ") || to == path {
			t.Fatalf("%v has the hint %q, want one that moves the file", err, hint)
		}
		if other, ok := at[to]; ok {
			t.Errorf("%q is moved to %s, where %q lies", text, to, other)
		}
		at[to] = text
	}
}

// TestStoreFormat reads the example of docs/format/trust.md.
func TestStoreFormat(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "format", "trust.md"))
	must(t, err)
	_, rest, ok := strings.Cut(string(doc), "```yaml\n")
	text, _, ok2 := strings.Cut(rest, "```")
	if !ok || !ok2 {
		t.Fatal("no example in docs/format/trust.md")
	}
	st, err := ParseStore([]byte(text))
	must(t, err)
	again, err := st.Encode()
	must(t, err)
	if storeHeader+text != string(again) {
		t.Errorf("the example is written\n%s", again)
	}
}

// FuzzStore: no text makes the reader panic; what it accepts is written in a form
// that reads as the same.
func FuzzStore(f *testing.F) {
	text, err := full(f).Encode()
	must(f, err)
	f.Add(text)
	for _, s := range badStores(f) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := ParseStore(raw)
		if err != nil {
			return
		}
		a, err := s.Encode()
		must(t, err)
		again, err := ParseStore(a)
		if err != nil {
			t.Fatalf("written as\n%s\nwhich is refused: %v", a, err)
		}
		if b, _ := again.Encode(); !bytes.Equal(a, b) {
			t.Fatalf("written as\n%s\nand then as\n%s", a, b)
		}
	})
}
