package space_test

import (
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
)

// The rules of docs/format/project.md, "Working tree and record". In each of these
// the user space holds a good item of the same name, which must never answer for
// one of the project that is refused.

func TestRule1NotParsedOrNotBelieved(t *testing.T) {
	w := newWorld(t)
	w.put(w.user, greet, "1.0.0", "user")
	good := w.sign(w.project, greet, body("1.0.0", "hello"))
	stranger, err := trust.GenerateKey()
	w.must(err)
	changed := []byte(strings.Replace(string(good), "echo hello", "echo Hello", 1))
	for _, c := range []struct {
		name  string
		raw   []byte
		code  fault.Code
		state objects.State
	}{
		{"unsigned", body("1.0.0", "hello"), fault.Untrusted, objects.Unsigned},
		{"changed", changed, fault.Integrity, objects.Modified},
		{"a stranger's", w.signAs(stranger, w.project, greet, body("1.0.0", "hello")), fault.Untrusted, objects.Untrusted},
		{"two lines", append(good[:len(good):len(good)], good...), fault.Malformed, objects.Malformed},
		{"too large", make([]byte, space.MaxItem+1), fault.Limit, objects.Malformed},
		{"of another name", w.sign(w.project, "tools/acme/other.sh", body("1.0.0", "hello")), fault.Integrity, objects.Modified},
	} {
		w.write(w.project, greet, c.raw)
		w.want(c.name, c.code)
		if got := w.states(w.project); got != greet+" "+string(c.state)+"\n" {
			t.Errorf("%s: %q, want state %s", c.name, got, c.state)
		}
	}
	w.write(w.project, greet, good)
	if f := w.want("good", ""); f.Space != objects.Project || f.Recorded {
		t.Errorf("good: space %s, recorded %v", f.Space, f.Recorded)
	}
	w.remove(w.project, greet)
	if f := w.want("nothing in the project", ""); f.Space != objects.User {
		t.Errorf("found in %s, want the user space", f.Space)
	}
}

func TestRule2OwnedByTheLock(t *testing.T) {
	w := newWorld(t)
	raw := w.put(w.project, greet, "1.0.0", "hello")
	w.pins = map[objects.Ref]space.Pin{ref("tool:acme/greet"): {Registry: "r", Path: greet, Sum: objects.DigestOf(raw)}}
	w.want("a file before a locked item", fault.Rollback)
}

func TestRule3Recorded(t *testing.T) {
	w := newWorld(t)
	raw := w.put(w.project, greet, "1.0.0", "hello")
	f := w.want("recorded", "")
	if !f.Recorded || f.Item().Sum != objects.DigestOf(raw) || f.Path != greet || f.Blob.IsZero() {
		t.Errorf("got %+v", f)
	}
	if got, want := w.states(w.project), greet+" signed recorded\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRules4To6OlderAndNewer(t *testing.T) {
	w := newWorld(t)
	first := w.put(w.project, greet, "1.0.0", "hello")
	early := w.sign(w.project, greet, body("1.0.0", "early")) // signed before the next, never recorded
	w.put(w.project, greet, "1.1.0", "hi")
	check := func(what string, raw []byte, code fault.Code, state objects.State) {
		t.Helper()
		w.write(w.project, greet, raw)
		w.want(what, code)
		if got := w.states(w.project); got != greet+" "+string(state)+"\n" {
			t.Errorf("%s: %q, want %s", what, got, state)
		}
	}
	check("recorded once, replaced since", first, "", objects.Older)
	check("signed before the recorded", early, "", objects.Older)
	check("lower version, signed later", w.sign(w.project, greet, body("1.0.9", "low")), "", objects.Signed)
	check("the same version, newer", w.sign(w.project, greet, body("1.1.0", "again")), "", objects.Signed)
	check("a higher version", w.sign(w.project, greet, body("1.2.0", "more")), "", objects.Signed)

	// Adopted, the old bytes are the record's and count again.
	w.write(w.project, greet, first)
	w.record(w.project, store.Change{Path: greet, Data: first})
	w.want("adopted", "")
}

// TestOlderInAnotherLanguage: a file with another extension is the same item, so
// what counts as older does not change by renaming it. The signature binds the
// extension: the same bytes under another one are not signed.
func TestOlderInAnotherLanguage(t *testing.T) {
	for _, c := range []struct{ old, now string }{
		{"tools/acme/greet.bash", greet},                  // to a language that rye knows
		{greet, "tools/acme/greet.bash"},                  // from one
		{"tools/acme/greet.zsh", "tools/acme/greet.bash"}, // neither
	} {
		w := newWorld(t)
		first := w.put(w.project, c.old, "1.0.0", "hello")
		w.put(w.project, c.old, "1.0.1", "hello again")
		early := w.sign(w.project, c.now, body("1.9.0", "early"))
		w.put(w.project, c.old, "2.0.0", "hi")
		low := w.sign(w.project, c.now, body("1.5.0", "low"))
		same := w.sign(w.project, c.now, body("2.0.0", "hi, renamed"))
		w.remove(w.project, c.old)
		check := func(what string, raw []byte, code fault.Code, state objects.State) {
			t.Helper()
			w.write(w.project, c.now, raw)
			w.want(c.old+" to "+c.now+", "+what, code)
			if got := w.states(w.project); !strings.Contains(got, c.now+" "+string(state)+"\n") {
				t.Errorf("%s to %s, %s: %q, want %s", c.old, c.now, what, got, state)
			}
		}
		check("replaced since", first, fault.Integrity, objects.Modified)
		if code := fault.Code(""); path.Ext(c.old) != path.Ext(c.now) {
			code = fault.Rollback // another program executes it
			check("signed before the recorded", early, code, objects.Older)
		}
		check("lower version, signed later", low, "", objects.Signed)
		check("the same version, newer", same, "", objects.Signed)
		if raw, err := w.stack().Project.Draft(ref("tool:acme/greet")); err != nil || string(raw.Raw) != string(same) {
			t.Errorf("draft: %v", err)
		}
	}
}

func TestWhatWasNeverUsableIsNothingToFallBehind(t *testing.T) {
	w := newWorld(t)
	early := w.sign(w.project, greet, body("1.0.0", "early"))
	w.record(w.project, store.Change{Path: greet, Data: body("9.0.0", "unsigned")})
	w.write(w.project, greet, early)
	w.want("after an unsigned record", "")
}

func TestDeletedNeverFallsThrough(t *testing.T) {
	for _, p := range []string{greet, "tools/acme/greet.rb"} { // .rb: a language rye does not know
		w := newWorld(t)
		w.put(w.user, greet, "1.0.0", "user")
		w.put(w.project, p, "1.0.0", "hello")
		w.want("there", "")
		w.remove(w.project, p)
		w.want("absent", fault.Integrity)
		if got := w.states(w.project); got != p+" absent\n" {
			t.Errorf("got %q", got)
		}
		got, raw, err := w.stack().Project.LastRecorded(t.Context(), ref("tool:acme/greet"))
		if err != nil || got != p || len(raw) == 0 {
			t.Errorf("LastRecorded = %q, %d bytes, %v", got, len(raw), err)
		}
		w.record(w.project, store.Change{Path: p, Delete: true})
		if f := w.want("removed", ""); f.Space != objects.User {
			t.Errorf("after rye rm found in %s", f.Space)
		}
	}
}

// TestVanishing takes a recorded file away and puts it back while it is asked for:
// whatever the moment, the user's item must not answer in its place.
func TestVanishing(t *testing.T) {
	w := newWorld(t)
	w.put(w.user, greet, "1.0.0", "user")
	w.put(w.project, greet, "1.0.0", "hello")
	file := filepath.Join(w.project.Dir, filepath.FromSlash(greet))
	away := filepath.Join(filepath.Dir(file), ".away")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				os.Rename(file, away)
				runtime.Gosched()
				os.Rename(away, file)
			}
		}
	}()
	s := w.stack()
	for range 1000 {
		f, err := s.Find(t.Context(), ref("tool:acme/greet"))
		if err != nil && fault.CodeOf(err) != fault.Integrity {
			t.Error(err)
			break
		}
		if err == nil && f.Space != objects.Project {
			t.Errorf("the %s space answered", f.Space)
			break
		}
		if _, err := s.Scan(t.Context(), s.Project, nil); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	<-done
}

func TestTwoFilesForOneRef(t *testing.T) {
	w := newWorld(t)
	w.put(w.user, greet, "1.0.0", "user")
	w.put(w.project, greet, "1.0.0", "hello")
	twin := "tools/acme/greet.yaml"
	w.write(w.project, twin, []byte("version: 1.0.0\n"))
	w.want("two files", fault.Conflict)
	// As files, for a tool that loads them, they are two.
	f, ok, err := w.stack().At(t.Context(), objects.Project, ref("tool:acme/greet"), greet)
	if err != nil || !ok || f.Err != nil {
		t.Errorf("At = %v, %v, %v", f.Err, ok, err)
	}
	if got, want := w.states(w.project), greet+" signed recorded\n"+twin+" unsigned\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestFolderThatCannotBeEntered: what may be in it must not answer from below.
func TestFolderThatCannotBeEntered(t *testing.T) {
	w := newWorld(t)
	w.put(w.user, greet, "1.0.0", "user")
	w.write(w.project, greet, w.sign(w.project, greet, body("1.0.0", "hello")))
	dir := filepath.Join(w.project.Dir, "tools", "acme")
	w.must(os.Rename(dir, dir+"2"))
	if err := os.Symlink(t.TempDir(), dir); err != nil {
		t.Skip("no links here: ", err)
	}
	w.want("a folder that is a link out", fault.Malformed)
}

func TestLinksAndFoldersNamedLikeItems(t *testing.T) {
	w := newWorld(t)
	w.put(w.user, greet, "1.0.0", "user")
	raw := w.sign(w.project, greet, body("1.0.0", "hello"))
	w.write(w.project, "tools/acme/real.sh", raw)
	file := filepath.Join(w.project.Dir, filepath.FromSlash(greet))
	outside := filepath.Join(t.TempDir(), "greet.sh")
	w.must(os.WriteFile(outside, raw, 0o644))
	for name, target := range map[string]string{"inside": "real.sh", "outside": outside, "dangling": "nowhere"} {
		if err := os.Symlink(target, file); err != nil {
			t.Skip("no links here: ", err)
		}
		w.want("a link "+name, fault.Malformed)
		if got := w.states(w.project); !strings.HasPrefix(got, greet+" malformed\n") {
			t.Errorf("a link %s: %q", name, got)
		}
		w.must(os.Remove(file))
	}
	w.must(os.Mkdir(file, 0o755))
	w.want("a folder", fault.Malformed)
	w.write(w.project, greet+"/inner.sh", raw)
	if got := w.states(w.project); !strings.Contains(got, greet+"/inner.sh malformed\n") {
		t.Errorf("a folder: %q", got)
	}
}

func TestLinkedFolderIsNotFollowedOutside(t *testing.T) {
	w := newWorld(t)
	away := t.TempDir()
	w.must(os.WriteFile(filepath.Join(away, "greet.sh"), w.sign(w.project, greet, body("1.0.0", "hello")), 0o644))
	w.must(os.MkdirAll(filepath.Join(w.project.Dir, "tools"), 0o755))
	if err := os.Symlink(away, filepath.Join(w.project.Dir, "tools", "acme")); err != nil {
		t.Skip("no links here: ", err)
	}
	if f, err := w.stack().Find(t.Context(), ref("tool:acme/greet")); err == nil {
		t.Errorf("found %s behind a link that leaves .ai", f.Path)
	}
	if got, want := w.states(w.project), "tools/acme malformed\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDeepTree(t *testing.T) {
	w := newWorld(t)
	deep := "acme" + strings.Repeat("/d", objects.MaxIDSegments-2) // and a name
	p := "tools/" + deep + "/greet.sh"
	raw := w.sign(w.project, p, []byte(strings.Replace(string(body("1.0.0", "hello")), "category: acme", "category: "+deep, 1)))
	w.write(w.project, p, raw)
	r, _, err := objects.RefOfPath(p)
	w.must(err)
	if _, err := w.stack().Find(t.Context(), r); err != nil {
		t.Error(err)
	}
	w.write(w.project, "tools/"+deep+"/e/greet.sh", raw)
	if got, want := w.states(w.project), "tools/"+deep+"/e malformed\n"+p+" signed\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWhatEditorsLeaveIsNoItem(t *testing.T) {
	w := newWorld(t)
	w.put(w.project, "tools/acme/greet.rb", "1.0.0", "hello")
	for _, p := range []string{"tools/acme/greet.rb~", "tools/acme/.greet.rb.swp", "tools/acme/__pycache__/greet.pyc"} {
		w.write(w.project, p, []byte("x"))
	}
	w.want("beside what editors leave", "")
	if got, want := w.states(w.project), "tools/acme/greet.rb signed recorded\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDeniedKey(t *testing.T) {
	w := newWorld(t)
	w.put(w.project, greet, "1.0.0", "hello")
	w.states(w.project) // the catalogue knows it as good
	w.must(w.trust.DenyKey(w.key.Public().Fingerprint(), "lost"))
	w.want("denied key", fault.Revoked)
	if got, want := w.states(w.project), greet+" denied recorded\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDeniedDigestInTheSystemSpace(t *testing.T) {
	w := newWorld(t)
	s := w.stack()
	s.System = space.OpenSystem
	r := ref("tool:rye/core/runtimes/bash_runtime")
	f, err := s.Find(t.Context(), r)
	if err != nil || f.Space != objects.System {
		t.Fatalf("%v, space %s", err, f.Space)
	}
	if _, err := s.Layer(objects.System); fault.CodeOf(err) != fault.Denied {
		t.Errorf("a layer of the system space: %v", err)
	}
	all, err := s.ScanSystem()
	w.must(err)
	for _, f := range all {
		if f.Err != nil || !f.Recorded {
			t.Errorf("%s: %v", f.Ref, f.Err)
		}
	}
	w.must(w.trust.DenyDigest(f.Item().Sum, "bad"))
	if _, err := s.Find(t.Context(), r); fault.CodeOf(err) != fault.Revoked {
		t.Errorf("denied: %v", err)
	}
}

// TestFindFromLooksDown keeps what a lower space refers to from being replaced above.
func TestFindFromLooksDown(t *testing.T) {
	w := newWorld(t)
	w.put(w.project, greet, "1.0.0", "hello")
	w.put(w.user, greet, "1.0.0", "user")
	f, err := w.stack().FindFrom(t.Context(), objects.User, ref("tool:acme/greet"))
	if err != nil || f.Space != objects.User {
		t.Errorf("%v, space %s", err, f.Space)
	}
	if _, err := w.stack().FindFrom(t.Context(), objects.System, ref("tool:acme/greet")); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("from the system space: %v", err)
	}
}

func TestLocked(t *testing.T) {
	w := newWorld(t)
	w.put(w.user, greet, "1.0.0", "user")
	raw := w.sign(w.user, greet, body("1.0.0", "locked")) // by a key that counts, which is what registries pin
	content := w.record(w.project, store.Change{Path: "tools/acme/x.sh", Data: raw}, store.Change{Path: greet, Data: raw})
	w.record(w.project, store.Change{Path: "tools/acme/x.sh", Delete: true}, store.Change{Path: greet, Delete: true})
	missing, err := store.ParseOID(strings.Repeat("12", 20))
	w.must(err)
	pin := func(commit store.OID, p string, sum objects.Digest) {
		w.pins = map[objects.Ref]space.Pin{ref("tool:acme/greet"): {Registry: "sha256:" + strings.Repeat("0", 64), Commit: commit, Path: p, Sum: sum}}
	}
	pin(missing, greet, objects.DigestOf(raw))
	w.want("content that is not here", fault.Offline)
	pin(content, "tools/acme/none.sh", objects.DigestOf(raw))
	w.want("a path that is not in it", fault.Offline)
	pin(content, greet, objects.DigestOf([]byte("other")))
	w.want("other bytes than pinned", fault.Drift)
	pin(content, greet, objects.DigestOf(raw))
	if _, err := w.stack().Find(t.Context(), ref("tool:acme/greet")); fault.CodeOf(err) == fault.NotFound || fault.CodeOf(err) == fault.Offline {
		t.Errorf("pinned bytes: %v", err)
	}
	if err := w.stack().ScanLock([]objects.Ref{ref("tool:acme/greet"), ref("tool:acme/unknown")}); len(err) != 1 {
		t.Errorf("%d locked items, want 1", len(err))
	}
}
