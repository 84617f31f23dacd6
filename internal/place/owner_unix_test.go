//go:build unix

package place

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

// TestOwned: what nobody but the user and root can change is owned, links and what lies
// above included.
func TestOwned(t *testing.T) {
	top := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := func(mode os.FileMode, elem ...string) string {
		path := filepath.Join(append([]string{top}, elem...)...)
		must(os.MkdirAll(path, 0o755))
		must(os.Chmod(path, mode))
		return path
	}
	mine, open, sticky := dir(0o755, "mine"), dir(0o777, "open"), dir(0o777|os.ModeSticky, "sticky")
	below, file := dir(0o700, "open", "below"), filepath.Join(mine, "file")
	must(os.WriteFile(file, nil, 0o600))
	link := filepath.Join(mine, "link")
	must(os.Symlink(below, link))
	for path, want := range map[string]string{
		mine: "", file: "", filepath.Join(mine, "not", "there"): "", sticky: "", filepath.Join(sticky, "x"): "",
		open: "others may write", below: "others may write " + open, filepath.Join(open, "not", "there"): "others may write", link: "others may write " + open,
	} {
		judge(t, path, want)
	}
	must(os.Chmod(file, 0o602|os.ModeSticky)) // sticky means nothing on a file
	judge(t, file, "others may write")
	if os.Geteuid() != 0 {
		return
	}
	must(os.Chmod(file, 0o600))
	must(os.Chown(file, 61_238, 61_238))
	judge(t, file, "belongs to user 61238")
	// In a sticky directory anybody may have made what lies there; root's own is root's.
	theirs := dir(0o755, "sticky", "theirs")
	must(os.Chown(theirs, 61_238, 61_238))
	judge(t, filepath.Join(theirs, "x"), "belongs to user 61238")
	must(os.Lchown(link, 61_238, 61_238))
	must(os.Chmod(open, 0o755))
	judge(t, link, "belongs to user 61238")
	if uid, err := OwnerOf(link); err != nil || uid != 61_238 {
		t.Errorf("OwnerOf a link: %d, %v", uid, err)
	}
	// A group of others may write as much as others may.
	group := dir(0o775, "group")
	must(os.Chown(group, 0, 61_238))
	judge(t, group, "others may write")
}

func judge(t *testing.T, path, want string) {
	t.Helper()
	err := Owned(path)
	switch {
	case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("Owned(%s) = %v, want %q", path, err, want)
	case want != "" && !fault.Is(err, fault.Auth):
		t.Errorf("Owned(%s) has the code %s, want auth", path, fault.CodeOf(err))
	}
}
