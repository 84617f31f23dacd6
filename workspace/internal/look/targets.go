package look

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Named holds the items and bundles of a layer that a user named.
type Named struct {
	Refs    []objects.Ref // of working files
	Bundles []string      // directories below .ai, sorted
	locate  func(objects.Ref) (string, error)
}

// Path returns the path of an item's working file below .ai; "" where there is none, or two.
func (n *Named) Path(ref objects.Ref) string {
	p, err := n.locate(ref)
	if err != nil {
		return "" // the later work on the item reports the problem
	}
	return p
}

// ItemsAndBundles resolves a user's targets to the refs of working files and the directories of
// bundles. With all, or the target *, it returns every item and every bundle of the layer. An
// item that only a bundle verifies stands for that bundle.
func ItemsAndBundles(ctx context.Context, s *session.Session, l *space.Layer, args []rye.Target, all bool) (n Named, err error) {
	var rest []rye.Target
	for _, arg := range args {
		if dir, ok := FolderTarget(l, arg); ok {
			n.Bundles = append(n.Bundles, dir)
		} else {
			rest = append(rest, arg)
		}
	}
	files := &tree{l: l}
	if all || slices.Contains(args, "*") {
		if err := files.list(ctx); err != nil {
			return n, err
		}
		for _, dir := range space.BundlesAmong(files.foreign) {
			if _, err := objects.BundleID(dir); err == nil {
				n.Bundles = append(n.Bundles, dir)
			}
		}
	}
	refs, err := targets(ctx, s, files, rest, all)
	if err != nil {
		return n, err
	}
	n.locate = files.locations(refs)
	seen := &space.Covers{}
	for _, ref := range refs {
		dir := ""
		if p := n.Path(ref); p != "" {
			if dir, err = answeredBy(ctx, s, l, p, seen); err != nil {
				return n, err
			}
			if in, ok := objects.InBundles(p); ok && dir == "" && !lineAt(l, p) {
				dir = in
			}
		}
		if dir != "" {
			n.Bundles = append(n.Bundles, dir)
		} else {
			n.Refs = append(n.Refs, ref)
		}
	}
	slices.Sort(n.Bundles)
	n.Bundles = slices.Compact(n.Bundles)
	return n, nil
}

// targets resolves a user's targets to the refs of working files. A target is a ref, a path, or
// a pattern in which * stands for any text and ? for one character. With all it returns every
// item.
func targets(ctx context.Context, s *session.Session, files *tree, args []rye.Target, all bool) ([]objects.Ref, error) {
	var refs []objects.Ref
	seen := map[objects.Ref]bool{}
	add := func(ref objects.Ref) {
		if !seen[ref] {
			seen[ref] = true
			refs = append(refs, ref)
		}
	}
	if all {
		args = append(slices.Clip(args), "*")
	}
	for _, target := range args {
		arg := string(target)
		if !IsPattern(target) {
			ref, err := session.RefOf(ctx, s, arg)
			if err != nil {
				return nil, cmp.Or(noFile(arg), err)
			}
			add(ref)
			continue
		}
		if err := files.list(ctx); err != nil {
			return nil, err
		}
		n := len(refs)
		for _, f := range files.all {
			if Matches(target, f.ref) {
				add(f.ref)
			}
		}
		if len(refs) == n && !all {
			return nil, fault.New(fault.NotFound, "%q matches no item of the %s space", arg, files.l.Space).Advise("rye list")
		}
	}
	return refs, nil
}

// IsPattern reports whether a target is a pattern for the names of items.
func IsPattern(t rye.Target) bool { return strings.ContainsAny(string(t), "*?") }

// Matches reports whether a pattern fits one of the forms of an item's name. A * stands for any
// text, with its slashes, and ? for one character.
func Matches(pattern rye.Target, ref objects.Ref) bool {
	p := string(pattern)
	return p == "*" || glob(p, ref.String()) || glob(p, string(ref.ID)) || glob(p, ref.Published())
}

// noFile returns the error for an argument that is written like a file's path, where no file
// is; nil for any other argument. No id has a dot, so an extension shows a path.
func noFile(arg string) error {
	ext := filepath.Ext(arg)
	if len(ext) < 2 || strings.ContainsAny(arg, ": @") {
		return nil
	}
	if _, err := os.Lstat(arg); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fault.New(fault.NotFound, "%s: no such file", words.Brief(arg)).Advise("rye list shows the items that you can name")
}

// tree is the working files of a layer, listed at most once.
type tree struct {
	l       *space.Layer
	listed  bool
	all     []file
	foreign map[string]error // the paths that are no items
}

type file struct {
	ref  objects.Ref
	path string
}

func (t *tree) list(ctx context.Context) (err error) {
	if t.listed {
		return nil
	}
	t.foreign, err = t.l.Files(ctx, func(p string, ref objects.Ref) error {
		t.all = append(t.all, file{ref, p})
		return nil
	})
	t.listed = err == nil
	return err
}

// locations returns a function that finds the working files of refs. It uses an existing
// listing, except for files that are missing or ambiguous in it.
func (t *tree) locations(refs []objects.Ref) func(objects.Ref) (string, error) {
	if !t.listed {
		return t.l.Locations(refs)
	}
	at := make(map[objects.Ref]string, len(t.all))
	for _, f := range t.all {
		if _, twice := at[f.ref]; twice {
			f.path = ""
		}
		at[f.ref] = f.path
	}
	return func(ref objects.Ref) (string, error) {
		if p := at[ref]; p != "" {
			return p, nil
		}
		return t.l.Locate(ref)
	}
}

// glob matches s against a pattern in which * also matches slashes. In the worst case it takes
// time proportional to the product of the lengths.
func glob(pattern, s string) bool {
	p, i, star, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p, i = p+1, i+1
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
