package store

import (
	"errors"
	"fmt"
	"math/rand"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

// TestObjectsBoundDeltas: an object whose deltas make more bytes than are allowed is refused,
// and so is none that is packed as git packs.
func TestObjectsBoundDeltas(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	dir := t.TempDir()
	git := func(in string, args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(in)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("", "init", "-q", "--bare", ".")
	r, text, ids := rand.New(rand.NewSource(1)), "", ""
	var all []OID
	for i := range 20 {
		for range 200 {
			text += fmt.Sprintln(r.Int63())
		}
		id := git(fmt.Sprint(text, i), "hash-object", "-w", "--stdin")
		oid, err := ParseOID(id)
		if err != nil {
			t.Fatal(err)
		}
		all, ids = append(all, oid), ids+id+"\n"
	}
	git(ids, "pack-objects", "-q", "--depth=50", "objects/pack/pack")
	git("", "prune-packed", "-q")
	o, err := OpenObjects(SHA1, filepath.Join(dir, "objects"))
	must(t, err)
	defer o.Close()
	for _, id := range all {
		if _, _, err := o.Object(id, 0); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	small, err := OpenObjects(SHA1, filepath.Join(dir, "objects"))
	must(t, err)
	defer small.Close()
	small.disks[0].most = 1000
	refused := 0
	for _, id := range all {
		if _, _, err := small.Object(id, 0); fault.Is(err, fault.Limit) {
			refused++
		} else if err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	if refused < 10 {
		t.Errorf("%d of 20 were refused", refused)
	}
	if _, _, err := o.Object(SHA1.Hash(TypeBlob, []byte("none")), 0); !errors.Is(err, ErrNotExist) {
		t.Errorf("an object that is not there: %v", err)
	}
}
