package memory

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// seen returns a memory of a registry with one namespace, acme, and where that stands.
func seen(t *testing.T) (*Memory, oplog.Point) {
	t.Helper()
	id := objects.DigestOf([]byte("registry"))
	m := Open(Options{ID: id, URL: "https://git.example.org/r.git", StateDir: t.TempDir(), CacheDir: t.TempDir()})
	p := oplog.Point{Genesis: id, Seq: 3, Tip: store.SHA1.Hash(store.TypeBlob, nil), Sum: id, Owners: 1}
	for _, ns := range []string{"", "acme"} {
		at := p
		if ns == "" {
			at.Genesis, at.Owners = objects.Digest{}, 0
		}
		if err := m.Remember(t.Context(), ns, at); err != nil {
			t.Fatal(err)
		}
	}
	return m, p
}

// TestMemoryOnlyMovesForward: processes that end in another order than they began take
// nothing back of what was verified, and two that verified different histories say so.
func TestMemoryOnlyMovesForward(t *testing.T) {
	m, here := seen(t)
	at := func() oplog.Point {
		t.Helper()
		all, err := readMemory(m.o.StateDir, m.o.ID)
		if err != nil {
			t.Fatal(err)
		}
		return all["acme"]
	}
	ahead, behind, aside := here, here, here
	ahead.Seq, ahead.Sum = here.Seq+2, objects.DigestOf([]byte("ahead"))
	behind.Seq, behind.Sum = ahead.Seq-1, objects.DigestOf([]byte("behind"))
	aside.Seq, aside.Sum = ahead.Seq, objects.DigestOf([]byte("aside"))
	for _, step := range []struct {
		name string
		to   oplog.Point
		code fault.Code
		want oplog.Point
	}{
		{"forward", ahead, "", ahead},
		{"the same again", ahead, "", ahead},
		{"back", behind, "", ahead},
		{"sideways", aside, fault.Fork, ahead},
	} {
		if err := m.Remember(t.Context(), "acme", step.to); fault.CodeOf(err) != step.code {
			t.Errorf("%s: %v, want code %q", step.name, err, step.code)
		}
		if got := at(); got != step.want {
			t.Errorf("%s: remembers %+v, want %+v", step.name, got, step.want)
		}
	}
}

// TestPreparedMemory: what was prepared moves nothing by itself, and is never put over what another
// process verified meanwhile. No file remains, whatever became of it.
func TestPreparedMemory(t *testing.T) {
	for name, row := range map[string]struct {
		meanwhile uint64 // the position of another process; 0 for none
		sum       string
		code      fault.Code
		want      uint64
	}{
		"alone":                 {want: 5},
		"another got less far":  {meanwhile: 4, sum: "other", want: 5},
		"another got as far":    {meanwhile: 5, sum: "mine", want: 5},
		"another got further":   {meanwhile: 7, sum: "other", want: 7},
		"another saw otherwise": {meanwhile: 5, sum: "other", code: fault.Fork, want: 5},
	} {
		t.Run(name, func(t *testing.T) {
			m, here := seen(t)
			at := func(seq uint64, sum string) oplog.Point {
				p := here
				p.Seq, p.Sum = seq, objects.DigestOf([]byte(sum))
				return p
			}
			ready := m.Prepare("acme", at(5, "mine"))
			if all, err := readMemory(m.o.StateDir, m.o.ID); err != nil || all["acme"] != here {
				t.Errorf("prepared: %+v, %v, want %+v", all["acme"], err, here)
			}
			if row.meanwhile > 0 {
				other := Open(m.o)
				for _, ns := range []string{"acme", "beta"} {
					if err := other.Remember(t.Context(), ns, at(row.meanwhile, row.sum)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := m.RememberPrepared(t.Context(), "acme", at(5, "mine"), ready); fault.CodeOf(err) != row.code {
				t.Errorf("remember: %v, want code %q", err, row.code)
			}
			all, err := readMemory(m.o.StateDir, m.o.ID)
			if err != nil || all["acme"].Seq != row.want {
				t.Errorf("at %d, %v, want %d", all["acme"].Seq, err, row.want)
			}
			if row.meanwhile > 0 && all["beta"].Seq != row.meanwhile {
				t.Errorf("what another process verified of beta is gone: %+v", all)
			}
			if left, _ := filepath.Glob(filepath.Join(m.o.StateDir, "*", ".rye-tmp-*")); len(left) != 0 {
				t.Errorf("left: %q", left)
			}
			if left, _ := filepath.Glob(filepath.Join(m.o.StateDir, ".rye-tmp-*")); len(left) != 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// TestMemoryIsBounded: what is too much to be read again is not written.
func TestMemoryIsBounded(t *testing.T) {
	m, _ := seen(t)
	all, err := readMemory(m.o.StateDir, m.o.ID)
	if err != nil {
		t.Fatal(err)
	}
	m.o.URL = strings.Repeat("x", maxMemory) // as long as 60,000 namespaces
	if err := m.Remember(t.Context(), "beta", all["acme"]); !fault.Is(err, fault.Limit) {
		t.Errorf("remembers too much: %v", err)
	}
	if got, err := readMemory(m.o.StateDir, m.o.ID); err != nil || !maps.Equal(got, all) {
		t.Errorf("it remembers %v, %v; want %v", got, err, all)
	}
}

// TestMemoryHasOneSpelling: the file is as docs/format/registry.md has it, and no other text
// is taken for it, for what is forgotten opens the way back.
func TestMemoryHasOneSpelling(t *testing.T) {
	id, other := objects.DigestOf([]byte("registry")), objects.DigestOf([]byte("another"))
	tip := strings.Repeat("0123456789", 4)
	at, err := store.ParseOID(tip)
	if err != nil {
		t.Fatal(err)
	}
	root := oplog.Point{Seq: 2, Tip: at, Sum: other}
	acme := oplog.Point{Seq: 6, Tip: at, Sum: other, Owners: 1, Genesis: id}
	kept := Points{"": root, "acme": acme, "zoo": acme}
	head := "rye 1\nid " + id.String() + "\nurl https://git.example.org/registry.git\n"
	rootLine := ". 2 " + tip + " " + other.String() + " 0 -\n"
	tail := " 6 " + tip + " " + other.String() + " 1 " + id.String() + "\n"
	want := head + rootLine + "acme" + tail + "zoo" + tail
	if got := kept.text("https://git.example.org/registry.git", id); string(got) != want {
		t.Fatalf("written as\n%s, want\n%s", got, want)
	}
	if m, err := parseMemory([]byte(want), id); err != nil || !maps.Equal(m, kept) {
		t.Fatalf("read as %+v, %v", m, err)
	}
	skips := acme
	skips.Last = oplog.Position{Seq: 4, ID: at, Sum: id}
	kept["zoo"] = skips
	last := " 4 " + tip + " " + id.String() + "\n"
	if got := kept.text("https://git.example.org/registry.git", id); string(got) != strings.TrimSuffix(want, "\n")+last {
		t.Fatalf("with operations that were skipped, written as\n%s", got)
	}
	if m, err := parseMemory([]byte(strings.TrimSuffix(want, "\n")+last), id); err != nil || !maps.Equal(m, kept) {
		t.Fatalf("with operations that were skipped, read as %+v, %v", m, err)
	}
	kept["zoo"] = acme
	if m, err := parseMemory(kept.text("/srv/a\nacme"+tail, id), id); err != nil || !maps.Equal(m, kept) {
		t.Fatalf("in a directory with lines in its name: read as %+v, %v", m, err)
	}
	for name, text := range map[string]string{
		"nothing":               "",
		"of another registry":   strings.Replace(want, id.String(), other.String(), 1),
		"of another format":     strings.Replace(want, "rye 1", "rye 2", 1),
		"the head alone":        head,
		"without the root":      head + "acme" + tail,
		"cut short":             want[:len(want)-1],
		"cut inside":            want[:len(want)-40],
		"a line twice":          head + rootLine + "acme" + tail + "acme" + tail,
		"the root twice":        head + rootLine + rootLine,
		"in another order":      head + rootLine + "zoo" + tail + "acme" + tail,
		"an empty line":         want + "\n",
		"two spaces":            strings.Replace(want, "acme 6", "acme  6", 1),
		"another line feed":     strings.ReplaceAll(want, "\n", "\r\n"),
		"a name with a dot":     head + rootLine + ".acme" + tail,
		"no name":               head + rootLine + tail,
		"position 0":            strings.Replace(want, "acme 6", "acme 0", 1),
		"a position below 0":    strings.Replace(want, "acme 6", "acme -6", 1),
		"a position with zeros": strings.Replace(want, "acme 6", "acme 06", 1),
		"the last beyond":       strings.TrimSuffix(want, "\n") + strings.Replace(last, " 4", " 6", 1),
		"the root skips":        strings.Replace(want, " 0 -\n", " 0 -"+strings.Replace(last, " 4", " 1", 1), 1),
		"a word too many":       strings.Replace(want, " 0 -\n", " 0 - -\n", 1),
		"upper case":            strings.Replace(want, "sha256:", "SHA256:", 1),
	} {
		if m, err := parseMemory([]byte(text), id); !fault.Is(err, fault.Malformed) {
			t.Errorf("%s: read as %+v, %v", name, m, err)
		}
	}
}
