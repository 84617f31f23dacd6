package session

import (
	"os"
	"path/filepath"

	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/store"
)

// GitDirs are the git directories of a linked worktree or a submodule. They lie outside of its
// tree, and git needs them.
type GitDirs struct {
	File    string   // the .git file
	Pointer string   // the path that it names, which may lead over links
	Dirs    []string // what git reads there, without links
	Admin   string   // the git directory of this tree alone
	Write   []string // what git writes at a commit: Admin, and directories of the repository
}

// entries are the names in a git directory that git itself makes. Of a directory that is not
// called .git nothing else is shown.
var entries = []string{"HEAD", "ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD", "config", "config.worktree", "description", "hooks", "index", "info",
	"logs", "modules", "objects", "packed-refs", "refs", "reftable", "shallow", "worktrees"}

// GitDirsOf returns the git directories of the worktree or submodule around dir. Both sides must
// name the other and belong to one user: an archive can bring a .git file, but cannot write into
// the repository that the file names.
func GitDirsOf(dir string) (g GitDirs, ok bool) {
	top := checkoutOf(&place.Look{}, dir)
	g.File = filepath.Join(top, ".git")
	if st, err := os.Lstat(g.File); top == "" || err != nil || !st.Mode().IsRegular() {
		return GitDirs{}, false
	}
	if g.Pointer, ok = readPath(g.File, "gitdir: ", top); !ok {
		return GitDirs{}, false
	}
	admin, err := filepath.EvalSymlinks(g.Pointer)
	if _, in := Below(top, admin); err != nil || in {
		return GitDirs{}, false
	}
	common, ok := commonOf(admin, g.File)
	if !ok {
		common, ok = admin, ownsTree(admin, top)
	}
	if !ok || !isGitDir(common) || !oneOwner(dir, top, g.File, admin, common) {
		return GitDirs{}, false
	}
	g.Admin, g.Write = admin, []string{admin}
	if admin != common {
		for _, name := range []string{"objects", "refs", "logs"} {
			if st, err := os.Lstat(filepath.Join(common, name)); err == nil && st.IsDir() {
				g.Write = append(g.Write, filepath.Join(common, name))
			}
		}
	}
	if g.Dirs = []string{common}; filepath.Base(common) == ".git" {
		return g, true
	}
	g.Dirs = nil
	for _, name := range entries {
		if st, err := os.Lstat(filepath.Join(common, name)); err == nil && (st.IsDir() || st.Mode().IsRegular()) {
			g.Dirs = append(g.Dirs, filepath.Join(common, name))
		}
	}
	return g, true
}

// commonOf returns the repository of a linked worktree, whose own git directory is admin.
func commonOf(admin, file string) (common string, ok bool) {
	if filepath.Base(filepath.Dir(admin)) != "worktrees" {
		return "", false
	}
	common = filepath.Dir(filepath.Dir(admin))
	back, ok1 := readPath(filepath.Join(admin, "gitdir"), "", admin)
	shared, ok2 := readPath(filepath.Join(admin, "commondir"), "", admin)
	return common, ok1 && ok2 && SameFile(back, file) && SameFile(shared, common) &&
		oneOwner(admin, filepath.Join(admin, "gitdir"), filepath.Join(admin, "commondir"))
}

// ownsTree reports whether the git directory of a submodule names the submodule's tree.
func ownsTree(git, top string) bool {
	raw, err := place.Read(filepath.Join(git, "config"), maxGitConfig)
	if err != nil {
		return false
	}
	c, err := store.ParseRepoConfig(string(raw))
	if err != nil || c.Worktree == "" {
		return false
	}
	tree := filepath.FromSlash(c.Worktree)
	if !filepath.IsAbs(tree) {
		tree = filepath.Join(git, tree)
	}
	return SameFile(tree, top)
}

const maxGitConfig = 1 << 20 // bytes

// isGitDir reports whether git would take a directory for a repository.
func isGitDir(dir string) bool {
	head, err := os.Lstat(filepath.Join(dir, "HEAD"))
	if err != nil || !head.Mode().IsRegular() {
		return false
	}
	for _, name := range []string{"objects", "refs"} {
		if st, err := os.Lstat(filepath.Join(dir, name)); err != nil || !st.IsDir() {
			return false
		}
	}
	return true
}
