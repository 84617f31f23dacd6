package author

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/diff"
	"github.com/rye-os/rye/internal/merging"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/head"
	"github.com/rye-os/rye/workspace/internal/session"
)

// maxStage bounds one version of an unmerged file, in bytes.
const maxStage = 16 << 20

// The outcomes of a resolution.
const (
	resolvedSigned = "resolved" // a whole version with its signature, or a file without one
	resolvedMerged = "merged"   // nobody has signed the text
	leftConflict   = "conflict" // git's marks are in the file
	leftAlone      = "left"     // the file is as git left it
)

// Resolve merges the files of the project that git left unmerged, from the versions in its
// index, as rye does when git starts it. It changes files of the working tree only, through no
// link, and only those that nobody edited since. It stages, commits and signs nothing.
func Resolve(_ context.Context, h *session.Host, q rye.ResolveRequest) (*rye.ResolveReport, error) {
	if h.ProjectDir == "" {
		return nil, h.NoProject()
	}
	dir, err := filepath.EvalSymlinks(h.ProjectDir)
	if err != nil {
		return nil, err
	}
	c, err := head.OpenConflicts(dir, h.Home)
	if err != nil {
		return nil, fault.Wrap(err, "resolve")
	}
	defer c.Close()
	files, err := ours(c.Files)
	if err != nil {
		return nil, err
	}
	wanted, err := selected(h.ProjectDir, files, q.Targets)
	if err != nil {
		return nil, err
	}
	root, err := place.Tree(filepath.Join(dir, ".ai"))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	r := resolving{c, root.FS(), func(name string, data []byte) error {
		in, err := root.OpenRoot(path.Dir(name))
		if err != nil {
			return err
		}
		defer in.Close()
		mode := fs.FileMode(0o644)
		if st, err := in.Lstat(path.Base(name)); err == nil {
			mode = st.Mode().Perm()
		}
		return place.FileIn(in, path.Base(name), data, mode)
	}, q.DryRun}
	rep := &rye.ResolveReport{Next: c.Next}
	var first error
	for _, f := range wanted {
		one := r.file(f)
		rep.Files = append(rep.Files, one)
		if one.Status == leftConflict || one.Status == leftAlone {
			rep.Left++
		}
		if one.Status == resolvedMerged {
			rep.Sign = append(rep.Sign, one.Ref)
		}
	}
	if rep.Left > 0 {
		first = fault.New(fault.Conflict, "resolve: %d of %d files are for you to finish", rep.Left, len(rep.Files)).
			Advise("edit each file between its marks, then rye sign it and git add it")
	}
	return rep, first
}

// ours returns the unmerged files below .ai, by their paths there. Two paths that are one file
// on a disk that ignores case are refused.
func ours(all []head.Unmerged) (list []head.Unmerged, err error) {
	seen := map[string]bool{}
	for _, f := range all {
		below, ok := strings.CutPrefix(f.Path, ".ai/")
		if !ok {
			continue
		}
		if folded := strings.ToLower(below); seen[folded] {
			return nil, fault.New(fault.Malformed, "resolve: git's index has two files %q", f.Path)
		} else {
			seen[folded] = true
		}
		f.Path = below
		list = append(list, f)
	}
	return list, nil
}

// selected returns the files that were named, or all of them: the lock last, because it is
// about the items.
func selected(project string, all []head.Unmerged, targets []rye.Target) (list []head.Unmerged, err error) {
	if len(targets) == 0 {
		list = slices.Clone(all)
	}
	for _, t := range targets {
		n := len(list)
		name := string(t)
		if rel, err := filepath.Rel(project, name); filepath.IsAbs(name) && err == nil {
			name = rel
		}
		name = strings.TrimPrefix(strings.TrimPrefix(filepath.ToSlash(name), "./"), ".ai/")
		for _, f := range all {
			ref, _, err := objects.RefOfPath(f.Path)
			if f.Path == name || strings.HasPrefix(f.Path, name+"/") || err == nil && (ref.String() == string(t) || string(ref.ID) == string(t)) {
				list = append(list, f)
			}
		}
		if len(list) == n {
			return nil, fault.New(fault.NotFound, "resolve %s: git reports no conflict there", t).Mend("rye status")
		}
	}
	slices.SortStableFunc(list, func(a, b head.Unmerged) int {
		lock := func(f head.Unmerged) int {
			if f.Path == session.LockFile {
				return 1
			}
			return 0
		}
		return lock(a) - lock(b)
	})
	return slices.CompactFunc(list, func(a, b head.Unmerged) bool { return a.Path == b.Path }), nil
}

type resolving struct {
	from  *head.Conflicts
	tree  fs.FS // .ai
	write func(name string, data []byte) error
	dry   bool
}

// name is what one name of a path may be. Names that git, Windows or a shell would read as
// something else are not among them.
var name = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`) })

// file resolves one file.
func (r *resolving) file(f head.Unmerged) (one rye.ResolvedFile) {
	one.Path = ".ai/" + f.Path
	if ref, _, err := objects.RefOfPath(f.Path); err == nil {
		one.Ref = ref.String()
	}
	left := func(why string) rye.ResolvedFile {
		one.Status, one.Why = leftAlone, why
		return one
	}
	sort, _ := merging.SortOf(one.Path)
	switch {
	case !fs.ValidPath(f.Path) || slices.ContainsFunc(strings.Split(f.Path, "/"), func(n string) bool { return !name().MatchString(n) }):
		return left("its name is not one of an item, a manifest or a lock")
	case sort == merging.Personal || sort == merging.Text:
		return left("only you merge this file")
	case f.Stages[1] == (head.Stage{}) || f.Stages[2] == (head.Stage{}):
		return left("one side removed it, the other changed it")
	case !plainFile(f.Stages[0], true) || !plainFile(f.Stages[1], false) || !plainFile(f.Stages[2], false):
		return left("one side has a link or a submodule there")
	case f.Stages[1].Mode != f.Stages[2].Mode:
		return left("the sides differ in whether it is executable")
	}
	var texts [3][]byte
	for i, s := range f.Stages {
		if s == (head.Stage{}) {
			continue
		}
		var err error
		if texts[i], err = r.from.Text(s, maxStage); err != nil {
			return left(err.Error())
		}
	}
	now, err := r.read(f.Path)
	if err != nil {
		return left(err.Error())
	}
	sides := merging.Sides{Base: texts[0], Ours: texts[1], Theirs: texts[2]}
	got := merging.Merge(one.Path, sides, diff.Marks{Ours: "ours", Theirs: "theirs"})
	if !untouched(now, sides, got.Text) {
		return left("it was edited since git stopped; finish it by hand, or begin again with git checkout --merge")
	}
	one.Status = resolvedSigned
	switch {
	case got.Conflicts > 0:
		one.Status, one.Why = leftConflict, "both sides changed the same lines"
		if sort == merging.Lock {
			one.Why = "both sides pinned one item; first the items, then rye lock merge"
		}
	case got.Unsigned:
		one.Status = resolvedMerged
	}
	if r.dry || string(now) == string(got.Text) {
		return one
	}
	if again, err := r.read(f.Path); err != nil || string(again) != string(now) {
		return left("it changed meanwhile")
	}
	if err := r.write(f.Path, got.Text); err != nil {
		return left(err.Error())
	}
	return one
}

func plainFile(s head.Stage, missing bool) bool {
	return s.Mode == 0o100644 || s.Mode == 0o100755 || missing && s == (head.Stage{})
}

// read returns the working file, through no link.
func (r *resolving) read(p string) ([]byte, error) {
	at := ""
	for n := range strings.SplitSeq(p, "/") {
		at = path.Join(at, n)
		st, err := fs.Lstat(r.tree, at)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, errors.New("the working file is missing")
		}
		if err != nil {
			return nil, err
		}
		if is := st.Mode(); at == p && !is.IsRegular() || at != p && !is.IsDir() {
			return nil, errors.New("there is a link, or no plain file, in the working tree")
		}
		if at == p && st.Size() > maxStage {
			return nil, errors.New("the working file is too large")
		}
	}
	return fs.ReadFile(r.tree, p)
}

// untouched reports whether nobody has worked on a file: it is one of the versions, git's own
// merge of them, or ours.
func untouched(now []byte, s merging.Sides, merged []byte) bool {
	text := string(now)
	return text == string(s.Ours) || text == string(s.Theirs) || text == string(s.Base) || text == string(merged) ||
		diff.Untouched(text, string(s.Base), string(s.Ours), string(s.Theirs))
}
