package space_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// objectsOf returns every loose object of the project's store by id.
func (w *world) objectsOf() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	top := filepath.Join(w.project.Store, "objects")
	w.must(filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(top, p)
		if id := strings.ReplaceAll(filepath.ToSlash(rel), "/", ""); err == nil && !d.IsDir() && len(id) == 40 {
			all[id] = p
		}
		return err
	}))
	return all
}

// TestDamagedStore takes each object that the tip reaches away, and then garbles
// it. Nothing may then say "not found", or take the item for one never recorded.
func TestDamagedStore(t *testing.T) {
	for _, how := range []string{"missing", "garbled"} {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t)
			w.put(w.user, greet, "1.0.0", "user")
			first := w.put(w.project, greet, "1.0.0", "hello")
			w.put(w.project, greet, "1.1.0", "hi")
			newer := w.sign(w.project, greet, body("1.2.0", "newer"))
			all := w.objectsOf()
			if len(all) < 8 {
				t.Fatalf("%d loose objects, want 8 at least: there is nothing to damage", len(all))
			}
			for id, file := range all {
				kept, err := os.ReadFile(file)
				w.must(err)
				w.must(os.Remove(file))
				if how == "garbled" {
					w.must(os.WriteFile(file, kept[:len(kept)/2], 0o444))
				}
				for _, raw := range [][]byte{first, newer} {
					w.write(w.project, greet, raw)
					f, err := w.stack().Find(t.Context(), ref("tool:acme/greet"))
					switch code := fault.CodeOf(err); {
					case err == nil && f.Space != objects.Project:
						t.Errorf("%s %s: fell through to the %s space", how, id, f.Space)
					case err == nil && string(raw) == string(first):
						t.Errorf("%s %s: the replaced bytes were believed", how, id)
					case code == fault.NotFound:
						t.Errorf("%s %s: %v", how, id, err)
					}
				}
				w.must(os.RemoveAll(file))
				w.must(os.WriteFile(file, kept, 0o444))
			}
			w.want("mended", "")
		})
	}
}

func TestDamageIsNamed(t *testing.T) {
	w := newWorld(t)
	w.put(w.project, greet, "1.0.0", "hello")
	for _, file := range w.objectsOf() {
		w.must(os.Remove(file))
	}
	s := w.stack()
	_, err := s.Find(t.Context(), ref("tool:acme/greet"))
	if fault.CodeOf(err) != fault.Integrity || !strings.Contains(fault.HintOf(err).String(), "rye fsck") {
		t.Errorf("Find: %v (hint %q)", err, fault.HintOf(err).String())
	}
	if _, err := s.Scan(t.Context(), s.Project, nil); fault.CodeOf(err) != fault.Integrity {
		t.Errorf("Scan: %v", err)
	}
	if _, err := rowsOf(t.Context(), s, s.Project); fault.CodeOf(err) != fault.Integrity {
		t.Errorf("Rows: %v", err)
	}
	if _, _, err := s.Project.LastRecorded(t.Context(), ref("tool:acme/greet")); fault.CodeOf(err) != fault.Integrity {
		t.Errorf("LastRecorded: %v", err)
	}
	if f, err := s.Project.Fsck(t.Context()); err != nil || len(f.Damage) == 0 {
		t.Error("Fsck found nothing")
	}
	_, err = s.Project.Record(t.Context(), []store.Change{{Path: greet, Data: []byte("x")}}, store.CommitOptions{Message: "x\n", Author: store.Ident{Name: "a", Email: "a@b"}, When: w.clock})
	if err == nil {
		t.Error("Record built on a record that cannot be read")
	}
}
