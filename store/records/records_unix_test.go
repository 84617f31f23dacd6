//go:build unix

package records

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rye-os/rye/fault"
)

// TestDirectoryOfOthers: no record lies where another user could change it.
func TestDirectoryOfOthers(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, data, above string) error{
		"others may write to it":            func(_ *testing.T, data, _ string) error { return os.Chmod(data, 0o777) },
		"others may write to the one above": func(_ *testing.T, _, above string) error { return os.Chmod(above, 0o777) },
		"it belongs to another user": func(_ *testing.T, data, _ string) error {
			if os.Geteuid() != 0 { // then nobody can give it away
				return os.Chmod(data, 0o777)
			}
			return os.Lchown(data, 4711, 4711)
		},
	} {
		t.Run(name, func(t *testing.T) {
			above := filepath.Join(t.TempDir(), "above")
			data := filepath.Join(above, "data")
			if err := os.MkdirAll(data, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := Open(data).Err(); err != nil {
				t.Fatalf("the user's own: %v", err)
			}
			if err := change(t, data, above); err != nil {
				t.Fatal(err)
			}
			d := Open(data)
			if err := d.Err(); fault.CodeOf(err) != fault.Auth {
				t.Errorf("Err = %v, want %s", err, fault.Auth)
			}
			if p := at(t, d, t.TempDir()); p.Dir != "" || p.Store() != "" || d.Questions() != "" {
				t.Errorf("a record lies in %q, questions in %q", p.Dir, d.Questions())
			}
		})
	}
}
