package ward

import (
	"io"
	"io/fs"
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
	c.links(p)
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

// linkPart is the part of a link in a directory where git writes. Git writes through many of them: the
// message of the next commit goes where COMMIT_EDITMSG leads, and a line of each commit where a file of logs
// leads.
const linkPart = "link"

// links makes things of the links in a git directory.
func (c *collector) links(git string) {
	left := maxOpened
	for _, in := range []struct {
		name string
		deep bool
	}{{"", false}, {"info", false}, {"objects", false}, {"logs", true}, {"refs", true}} {
		dir := git
		if in.name != "" {
			dir = join(git, in.name)
		}
		if !c.linksIn(dir, in.deep, &left) {
			c.missed.place(git, "holds more than is checked")
			return
		}
	}
}

// linksIn makes things of the links in one directory. It returns false when there is too much.
func (c *collector) linksIn(dir string, deep bool, left *int) bool {
	l, err := c.d.list(dir, *left, false)
	if err != nil {
		return true // there is none
	}
	if *left -= len(l.entries); l.more {
		return false
	}
	for _, e := range l.entries {
		at := join(dir, e.name)
		switch {
		case e.mode.IsDir():
			if deep && !c.linksIn(at, deep, left) {
				return false
			}
		case e.mode&fs.ModeSymlink != 0 && !c.has(at) && !(e.name == "HEAD" && c.symbolic(at)):
			if st, err := c.d.stat(at); err == nil {
				c.keep(thing{info: st, path: at, kind: "part of a git directory", part: linkPart})
			}
		}
	}
	return true
}

func (c *collector) has(p string) bool {
	_, ok := c.paths[p]
	return ok
}

// symbolic reports whether a link names a branch, as git made HEAD long ago.
func (c *collector) symbolic(at string) bool {
	to, err := c.d.root.Readlink(local(at))
	return err == nil && strings.HasPrefix(to, "refs/heads/") && filepath.IsLocal(to)
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
		if value := valueOf(line, "hookspath"); value != "" {
			out = append(out, from(filepath.Dir(d.abs(git)), value))
		}
	}
	return out
}

// includedBy returns the files that a repository's config includes. They can name programs as the config can.
func (d *disk) includedBy(git string) (out []string) {
	in := false
	for line := range strings.Lines(d.small(join(git, "config"))) {
		if section, ok := strings.CutPrefix(strings.TrimSpace(line), "["); ok {
			in = strings.HasPrefix(strings.ToLower(strings.TrimSpace(section)), "include")
			_, line, _ = strings.Cut(line, "]")
		}
		if value := valueOf(line, "path"); in && value != "" && !strings.HasPrefix(value, "~") {
			out = append(out, from(d.abs(git), value))
		}
	}
	return out
}

// valueOf returns the value of a line of a config with this key, or "".
func valueOf(line, key string) string {
	k, value, ok := strings.Cut(line, "=")
	if !ok || !strings.EqualFold(strings.TrimSpace(k), key) {
		return ""
	}
	return strings.Trim(strings.TrimSpace(value), `"`)
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
