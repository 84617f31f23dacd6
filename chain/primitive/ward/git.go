package ward

import (
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// marks are the names that make git recognise a directory as its own. Their types do not matter,
// because git accepts links and its rules change.
type marks uint8

const (
	hasHEAD marks = 1 << iota
	hasObjects
	hasRefs
	hasCommondir
	hasConfig
	hasWorktreeConfig
	hasHooks
)

var marked = map[string]marks{
	"HEAD": hasHEAD, "objects": hasObjects, "refs": hasRefs, "commondir": hasCommondir,
	"config": hasConfig, "config.worktree": hasWorktreeConfig, "hooks": hasHooks,
}

func markOf(name string) marks {
	if len(name) < 4 || len(name) > 15 {
		return 0
	}
	if m, ok := marked[name]; ok {
		return m
	}
	switch fold(name) {
	case "head":
		return hasHEAD
	case "objects":
		return hasObjects
	case "refs":
		return hasRefs
	case "commondir":
		return hasCommondir
	}
	return 0
}

// git reports whether a directory with these names is a git directory. git runs the hooks and
// obeys the config of every one that is the current directory, whatever its name.
func (m marks) git() bool {
	return m&hasHEAD != 0 && (m&hasCommondir != 0 || m&hasObjects != 0 && m&hasRefs != 0)
}

// parts are the paths in a git directory that git executes, or that lead it elsewhere. A
// directory in needs.write does not include them.
//
// git executes lines of the files of an unfinished rebase.
var parts = []string{"config", "config.worktree", "commondir", "hooks", "remotes", "branches", "objects/info/alternates", "objects/info/http-alternates",
	"rebase-merge", "rebase-apply", "sequencer"}

// folders are parts that a new repository has, empty or with samples.
var folders = []string{"hooks", "remotes", "branches"}

func isPart(rel string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return below(fold(rel), p) })
}

// executed reports whether a path names a part of a git directory called .git, or of one of its
// modules.
func executed(rel string) bool {
	names := strings.Split(rel, "/")
	at := slices.IndexFunc(names, func(n string) bool { return fold(n) == ".git" })
	if at < 0 {
		return false
	}
	in := names[at+1:]
	if isPart(strings.Join(in, "/")) {
		return true
	}
	if len(in) == 0 || in[0] != "modules" && in[0] != "worktrees" {
		return false
	}
	for i := range in {
		if i > 1 && isPart(strings.Join(in[i:], "/")) {
			return true
		}
	}
	return false
}

// git makes things of the parts of a writable git directory, and of the git directories in it, in
// modules and elsewhere.
func (c *collector) git(p string) {
	for _, part := range parts {
		c.part(p, part)
	}
	if p != "" {
		c.inGit(p)
	}
}

// part makes a thing of a part, or of a link on the way to it.
func (c *collector) part(git, part string) {
	at := git
	for name := range strings.SplitSeq(part, "/") {
		at = join(at, name)
		st, err := c.d.stat(at)
		if err != nil {
			return
		}
		if st.link() || !st.dir() || at == join(git, part) {
			c.keep(thing{info: st, path: at, kind: "part of a git directory", part: part})
			return
		}
	}
}

// passed are directories of git that hold thousands of files, and in which no user works.
var passed = []string{"objects", "refs", "logs", "hooks", "lfs", "annex"}

func (c *collector) inGit(p string) {
	l, err := c.d.list(p, maxOpened, false)
	if c.budget++; c.budget > maxInGit || err != nil || l.more {
		c.missed.place(p, "holds more than is checked")
		return
	}
	for _, e := range l.entries {
		if !e.mode.IsDir() || slices.Contains(passed, e.name) {
			continue
		}
		sub := join(p, e.name)
		if in, err := c.d.list(sub, maxOpened, false); err == nil && marksOf(in.entries).git() {
			c.git(sub)
		} else {
			c.inGit(sub)
		}
	}
}

func marksOf(entries []entry) (m marks) {
	for _, e := range entries {
		m |= markOf(e.name)
	}
	return m
}

const maxGitFile = 64 << 10 // bytes of a .git file, a config, .gitmodules

// small reads a small regular file, and follows no link; "" if there is none.
func (d *disk) small(rel string) string {
	f, err := d.open(rel)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxGitFile+1))
	if err != nil || len(text) > maxGitFile {
		return ""
	}
	return string(text)
}

// gitFile returns the absolute path of the directory that a .git file names, or "".
func (d *disk) gitFile(rel string) string {
	to, ok := strings.CutPrefix(d.small(rel), "gitdir:")
	to = strings.TrimSpace(to)
	if !ok || to == "" {
		return ""
	}
	return from(filepath.Dir(d.abs(rel)), to)
}

// commonDir returns the common directory that a worktree's git directory names.
func commonDir(git string) string {
	f, err := os.OpenFile(filepath.Join(git, "commondir"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(f, 4096))
	if to := strings.TrimSpace(string(text)); err == nil && to != "" {
		return from(git, to)
	}
	return ""
}

// from resolves a path against a directory.
func from(dir, to string) string {
	to = filepath.FromSlash(to)
	if filepath.IsAbs(to) {
		return filepath.Clean(to)
	}
	return filepath.Join(dir, to)
}

// hooksOf returns the other places of a repository's hooks: the target of a link, and a path in
// its config. The config is from before the run, so every possible setting in it is accepted.
func (d *disk) hooksOf(git string) []string {
	var out []string
	if st, err := d.stat(join(git, "hooks")); err == nil && st.link() {
		out = append(out, d.abs(join(git, "hooks")))
	}
	for line := range strings.Lines(d.small(join(git, "config"))) {
		key, value, ok := strings.Cut(line, "=")
		if value = strings.Trim(strings.TrimSpace(value), `"`); ok && value != "" && strings.EqualFold(strings.TrimSpace(key), "hookspath") {
			out = append(out, from(filepath.Dir(d.abs(git)), value))
		}
	}
	return out
}

// submodules returns the .git of each submodule in .gitmodules. So these are found in spite of
// the bound on directories.
func (d *disk) submodules() []string {
	var out []string
	for line := range strings.Lines(d.small(".gitmodules")) {
		key, value, ok := strings.Cut(line, "=")
		value = path.Clean(strings.Trim(strings.TrimSpace(value), `"`))
		if ok && strings.TrimSpace(key) == "path" && filepath.IsLocal(filepath.FromSlash(value)) && len(out) < usualMax {
			out = append(out, join(value, ".git"))
		}
	}
	return out
}
