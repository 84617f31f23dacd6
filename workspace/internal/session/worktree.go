package session

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/store/records"
)

// maxGitFile bounds the small files that link a git worktree: each holds one path.
const maxGitFile = 8 << 10 // bytes

// MainTree returns, for a project in a linked git worktree, the same directory in the main
// working tree. The person is offered the grants there, and takes them over with rye trust;
// nothing is granted before that.
func MainTree(s *Session) (main records.Place, ok bool) {
	top, tree, ok := linkedWorktree(&place.Look{}, s.Place.Path)
	if !ok {
		return main, false
	}
	rel, err := filepath.Rel(top, s.Place.Path)
	if err != nil || !filepath.IsLocal(rel) {
		return main, false
	}
	main, err = s.Records.At(nil, filepath.Join(tree, rel), s.Project.Project)
	return main, err == nil
}

// linkedWorktree returns the top of dir's git worktree, and the main working tree that it is
// linked to. Both sides must name the other: an archive can bring a .git file, but cannot write
// into the repository that the file names. One user must own every path on the way.
func linkedWorktree(look *place.Look, dir string) (top, main string, ok bool) {
	top = checkoutOf(look, dir)
	file := filepath.Join(top, ".git")
	if st, err := look.Lstat(file); top == "" || err != nil || !st.Mode().IsRegular() {
		return "", "", false
	}
	admin, ok := readPath(file, "gitdir: ", top)
	if !ok || filepath.Base(filepath.Dir(admin)) != "worktrees" {
		return "", "", false
	}
	common := filepath.Dir(filepath.Dir(admin))
	main = filepath.Dir(common)
	back, ok1 := readPath(filepath.Join(admin, "gitdir"), "", admin)
	shared, ok2 := readPath(filepath.Join(admin, "commondir"), "", admin)
	st, err := os.Lstat(common)
	if !ok1 || !ok2 || err != nil || !st.IsDir() || filepath.Base(common) != ".git" ||
		!SameFile(back, file) || !SameFile(shared, common) || SameFile(main, top) {
		return "", "", false
	}
	return top, main, oneOwner(dir, top, file, admin, filepath.Join(admin, "gitdir"), filepath.Join(admin, "commondir"), common, main)
}

// readPath reads a file with one path after a prefix. A relative path starts at the directory
// below.
func readPath(file, prefix, below string) (string, bool) {
	raw, err := place.Read(file, maxGitFile)
	if err != nil {
		return "", false
	}
	text, ok := strings.CutPrefix(strings.TrimSuffix(string(raw), "\n"), prefix)
	if !ok || text == "" || strings.ContainsAny(text, "\x00\n\r") {
		return "", false
	}
	if !filepath.IsAbs(text) {
		text = filepath.Join(below, text)
	}
	return filepath.Clean(text), true
}

// oneOwner reports whether one user owns all of the paths.
func oneOwner(first string, more ...string) bool {
	owner, err := place.OwnerOf(first)
	for _, p := range more {
		uid, perr := place.OwnerOf(p)
		if err != nil || perr != nil || uid != owner {
			return false
		}
	}
	return err == nil
}
