package revoked

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

func version(i int, by byte) Version {
	v := Version{Digest: objects.DigestOf(fmt.Append(nil, i)), Name: fmt.Sprintf("acme/tool/t%d@1.0.0", i), Reason: strings.Repeat("é", i%300)}
	if by > 0 {
		v.By = objects.Fingerprint{by}
	}
	return v
}

func TestAddAndFind(t *testing.T) {
	for _, n := range []int{0, 1, 2, 10, 200, 3000} {
		path := filepath.Join(t.TempDir(), "list")
		var all []Version
		for i := range n {
			all = append(all, version(i, byte(1+i%3)))
		}
		rand.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
		for part := range slices.Chunk(all, max(n/3, 1)) {
			if err := Add(path, part); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := All(path); err != nil || len(got) != n {
			t.Fatalf("All after %d versions = %d versions, %v", n, len(got), err)
		}
		for _, v := range all {
			got, err := Find(path, v.Digest)
			if err != nil || len(got) != 1 || got[0] != v {
				t.Fatalf("Find(%s) among %d = %v, %v; want %v", v.Digest, n, got, err, v)
			}
		}
		for i := range 200 {
			if got, err := Find(path, objects.DigestOf(fmt.Append(nil, "no", i))); err != nil || len(got) > 0 {
				t.Fatalf("Find of a digest that is not among %d = %v, %v", n, got, err)
			}
		}
		before, _ := os.ReadFile(path)
		if err := Add(path, all); err != nil {
			t.Fatal(err)
		}
		if after, _ := os.ReadFile(path); string(after) != string(before) {
			t.Errorf("adding %d versions again changed the list", n)
		}
	}
}

// TestAddKey: a revocation that was seen in a catalogue gets its key when the operation is
// read, and never loses it.
func TestAddKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list")
	for _, by := range []byte{0, 7, 0} {
		if err := Add(path, []Version{version(4, by)}); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := All(path); err != nil || len(got) != 1 || got[0] != version(4, 7) {
		t.Errorf("All = %v, %v; want the version with its key", got, err)
	}
	// Two keys may revoke one content, and one content may have two names.
	other := version(4, 9)
	if err := Add(path, []Version{other}); err != nil {
		t.Fatal(err)
	}
	if got, err := Find(path, other.Digest); err != nil || len(got) != 2 {
		t.Errorf("Find = %v, %v; want both revocations", got, err)
	}
}

// TestAmong: a list that is read whole and one in which digests are found give the same.
func TestAmong(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list")
	if none, err := Among(path, map[objects.Digest]bool{version(1, 1).Digest: true}); none != nil || err != nil {
		t.Errorf("no list: %v, %v", none, err)
	}
	var all []Version
	for i := range 200 {
		all = append(all, version(i, 1))
	}
	if err := Add(path, all); err != nil {
		t.Fatal(err)
	}
	for _, many := range []int{3, 100_000} {
		want, digests := map[string]bool{}, map[objects.Digest]bool{}
		for i := range many {
			digests[objects.DigestOf(fmt.Append(nil, "no ", i))] = true
		}
		for _, v := range all[5:9] {
			digests[v.Digest], want[v.Line()] = true, true
		}
		found, err := Among(path, digests)
		for _, v := range found {
			delete(want, v.Line())
		}
		if err != nil || len(found) != 4 || len(want) != 0 {
			t.Errorf("of %d digests: %d, %v; without %v", many, len(found), err, want)
		}
	}
}

// TestAmongHeld: a version whose list could not be written is among the others, whether there is a
// list or not, and once where it is in the list as well.
func TestAmongHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list")
	digests := map[objects.Digest]bool{version(1, 1).Digest: true, version(2, 1).Digest: true}
	Hold(path, []Version{version(1, 1), version(3, 1)})
	if found, err := Among(path, digests); err != nil || len(found) != 1 || found[0] != version(1, 1) {
		t.Errorf("without a list: %v, %v", found, err)
	}
	if err := Add(path, []Version{version(1, 1), version(2, 1)}); err != nil {
		t.Fatal(err)
	}
	if found, err := Among(path, digests); err != nil || len(found) != 2 {
		t.Errorf("with a list: %v, %v", found, err)
	}
}

func TestDamagedList(t *testing.T) {
	good := version(1, 1).Line() + "\n"
	for name, text := range map[string]string{
		"cut":     good[:len(good)-1],
		"short":   "00\n",
		"text":    strings.Repeat("x", 100) + "\n",
		"endless": strings.Repeat("a", 3*block),
	} {
		path := filepath.Join(t.TempDir(), "list")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := All(path); fault.CodeOf(err) != fault.Integrity {
			t.Errorf("%s: All = %v, want integrity", name, err)
		}
		if _, err := Find(path, version(1, 1).Digest); name != "text" && fault.CodeOf(err) != fault.Integrity {
			t.Errorf("%s: Find = %v, want integrity", name, err)
		}
	}
}

func FuzzParseLine(f *testing.F) {
	f.Add(version(3, 0).Line())
	f.Add(version(299, 5).Line())
	f.Fuzz(func(t *testing.T, line string) {
		if v, err := ParseLine(line); err == nil && v.Line() != line {
			t.Errorf("ParseLine(%q) then Line gives %q", line, v.Line())
		}
	})
}

// BenchmarkFind looks one digest up among a million.
func BenchmarkFind(b *testing.B) {
	path := filepath.Join(b.TempDir(), "list")
	all := make([]Version, 1_000_000)
	for i := range all {
		all[i] = version(i, 1)
		all[i].Reason = "wipes the disk"
	}
	if err := Add(path, all); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Find(path, objects.DigestOf([]byte("none"))); err != nil {
			b.Fatal(err)
		}
	}
}
