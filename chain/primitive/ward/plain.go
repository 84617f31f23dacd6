package ward

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A new git directory is judged by what git itself makes in a plain clone, a new repository and a
// linked worktree. Everything else in it is moved: hooks, keys of a config that name programs,
// files of a rebase (git executes lines of them), links, and names that are not known here.

// roles are the names of a plain git directory.
var roles = map[string]role{
	"HEAD": plainFile, "ORIG_HEAD": plainFile, "FETCH_HEAD": plainFile, "COMMIT_EDITMSG": plainFile, "description": plainFile,
	"index": plainFile, "packed-refs": plainFile, "shallow": plainFile, "gc.log": plainFile, "gc.pid": plainFile,
	"config": configFile, "config.worktree": configFile,
	"objects": plainTree, "refs": plainTree, "logs": plainTree, "reftable": plainTree, "lfs": plainTree,
	"hooks": samples, "branches": samples, "remotes": samples,
	"info": infoDir, "modules": repositories, "worktrees": worktrees,
}

type role int

const (
	unknown      role = iota
	plainFile         // a file that only git reads
	configFile        // a config, by its keys
	plainTree         // files and directories that only git reads
	samples           // empty, or with files *.sample
	infoDir           // exclude, refs and sparse-checkout
	repositories      // of submodules
	worktrees         // of linked worktrees
)

// plainInfo are the harmless names in info. Attributes are not: they choose programs of a config.
var plainInfo = []string{"exclude", "refs", "sparse-checkout"}

// plainAdmin are the names in the git directory of a linked worktree, besides those of roles.
var plainAdmin = []string{"commondir", "gitdir", "locked"}

// A repositoryJudge collects the things of a git directory that git does not make by itself.
type repositoryJudge struct {
	e      *ending
	kind   string
	names  int // that may still be read
	bad    []thing
	beyond bool // there are more names
}

// repository moves what is not plain in a git directory, or all of it if it is none. With along set
// it was there before, and what nobody wrote during the run stays.
func (e *ending) repository(t thing, how string, along bool) {
	j := &repositoryJudge{e: e, kind: t.kind, names: maxAfter / 4}
	whole := j.git(t.path, false)
	if !whole || j.beyond {
		e.away(t, how)
		return
	}
	for _, b := range j.bad {
		if along && e.untouched(b) {
			continue
		}
		if b.part == "config" {
			b.kind = "part of a git directory"
		}
		e.away(b, how)
	}
}

// git judges one git directory. It reports whether git itself could have made it.
func (j *repositoryJudge) git(p string, admin bool) bool {
	l, err := j.e.d.list(p, min(maxOpened, j.names), true)
	if j.names -= len(l.entries); err != nil || l.more {
		return false
	}
	var has marks
	for _, in := range l.entries {
		t, ok := j.thing(join(p, in.name))
		if !ok {
			continue
		}
		if m, known := marked[in.name]; known && (m == hasHEAD && t.file() || (m == hasObjects || m == hasRefs) && t.dir() || m == hasCommondir && t.file()) {
			has |= m
		}
		j.entry(t, in.name, admin)
	}
	if admin {
		return has&hasHEAD != 0 && has&hasCommondir != 0
	}
	return has&(hasHEAD|hasObjects|hasRefs) == hasHEAD|hasObjects|hasRefs
}

func (j *repositoryJudge) thing(p string) (thing, bool) {
	st, err := j.e.d.stat(p)
	return thing{info: st, path: p, kind: "part of a git directory"}, err == nil
}

func (j *repositoryJudge) entry(t thing, name string, admin bool) {
	r := roles[name]
	if base, lock := strings.CutSuffix(name, ".lock"); lock && roles[base] != unknown { // git is at work
		r = plainFile
	}
	if admin && slices.Contains(plainAdmin, name) {
		r = plainFile
	}
	switch {
	case r == plainFile && t.file():
	case r == configFile && t.file():
		t.part = "config"
		if !j.plainConfig(t) {
			j.bad = append(j.bad, t)
		}
	case r == plainTree && t.dir():
		j.tree(t.path, name == "objects")
	case (r == samples || r == infoDir) && t.dir():
		j.each(t.path, func(in thing, name string) bool {
			return in.file() && (r == samples && strings.HasSuffix(name, ".sample") || r == infoDir && slices.Contains(plainInfo, name))
		})
	case r == repositories && t.dir() && !admin:
		j.modules(t.path)
	case r == worktrees && t.dir() && !admin:
		j.each(t.path, func(in thing, _ string) bool { return in.dir() && j.git(in.path, true) })
	default:
		j.bad = append(j.bad, t)
	}
}

// plainConfig reports whether a config has only keys that start no program and lead nowhere else.
// That of a submodule names its own tree.
func (j *repositoryJudge) plainConfig(t thing) bool {
	all, ok := parseConfig(j.e.d.small(t.path))
	git, _ := split(t.path)
	return ok && t.info.bytes <= maxGitFile && !slices.ContainsFunc(all, func(s setting) bool {
		if s.section == "core" && s.sub == "" && s.key == "worktree" && !filepath.IsAbs(s.value) {
			return !sameName(j.e.d.gitFile(relativeTo(git, s.value)), j.e.d.abs(git))
		}
		return !s.harmless()
	})
}

// relativeTo returns the .git of the tree that a git directory of the project names.
func relativeTo(git, tree string) string { return path.Join(git, filepath.ToSlash(tree), ".git") }

// each judges the entries of a directory, and takes those that are not good.
func (j *repositoryJudge) each(p string, good func(t thing, name string) bool) {
	l, err := j.e.d.list(p, min(maxOpened, j.names), true)
	if j.names -= len(l.entries); err != nil || l.more {
		j.beyond = true
		return
	}
	for _, in := range l.entries {
		if t, ok := j.thing(join(p, in.name)); ok && !good(t, in.name) {
			j.bad = append(j.bad, t)
		}
	}
}

// modules judges the repositories of submodules, whose names may have slashes.
func (j *repositoryJudge) modules(p string) {
	j.each(p, func(t thing, _ string) bool {
		if !t.dir() {
			return false
		}
		l, err := j.e.d.list(t.path, maxOpened, true)
		switch {
		case err != nil || l.more:
			return false
		case marksOf(l.entries) != 0:
			return j.git(t.path, false)
		}
		j.modules(t.path)
		return true
	})
}

// tree looks for links and other names that are neither files nor directories, and for the files
// that lead git to the objects of another repository.
func (j *repositoryJudge) tree(p string, objects bool) {
	l, err := j.e.d.list(p, j.names, true)
	if j.names -= len(l.entries); err != nil || l.more {
		j.beyond = true
		return
	}
	for _, in := range l.entries {
		at := join(p, in.name)
		leads := objects && (in.name == "alternates" || in.name == "http-alternates") && strings.HasSuffix(p, "objects/info")
		switch {
		case in.mode.IsDir():
			j.tree(at, objects)
		case in.mode.Type() != 0 || leads:
			if t, ok := j.thing(at); ok {
				j.bad = append(j.bad, t)
			}
		}
	}
}

// linked reports whether a .git file is that of a worktree or a submodule of a repository that no
// run of the time could write, or that is judged itself. Both sides name each other.
func (e *ending) linked(t thing) bool {
	at := e.d.abs(t.path)
	git := gitOf(at)
	if git == "" || strings.Count(e.d.small(t.path), "\n") > 1 {
		return false
	}
	if !e.closed(git) && !e.judged(git) {
		return false
	}
	if back := firstLine(filepath.Join(git, "gitdir")); back != "" {
		if !sameName(from(git, back), at) {
			return false
		}
		e.w.repos = append(e.w.repos, &repo{top: filepath.Dir(at), git: git}) // of a repository from before
		return true
	}
	for _, s := range settingsOf(filepath.Join(git, "config")) {
		if s.section == "core" && s.sub == "" && s.key == "worktree" {
			return sameName(from(git, s.value), filepath.Dir(at))
		}
	}
	return false
}

// judged reports whether a git directory is in one that the run made, and that is judged by its
// names.
func (e *ending) judged(git string) bool {
	rel, err := filepath.Rel(e.d.root.Name(), git)
	if err != nil || !filepath.IsLocal(rel) {
		return false
	}
	rel = filepath.ToSlash(rel)
	for p, dir := range e.there {
		if _, name := split(p); dir && fold(name) == ".git" && below(rel, p) && !slices.Contains(e.w.write, p) {
			_, known := e.before[p]
			return !known
		}
	}
	return false
}

// sameName reports whether two paths lead to one place.
func sameName(a, b string) bool {
	ra, err := filepath.EvalSymlinks(a)
	if err != nil {
		return false
	}
	rb, err := filepath.EvalSymlinks(b)
	return err == nil && ra == rb
}
