package origin

import (
	"context"
	"path"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/foreign"
	"github.com/rye-os/rye/store"
)

// Bounds of the files at one commit.
const (
	maxFiles  = 20_000
	maxLevels = 64
	maxBytes  = 256 << 20
	maxLink   = 4096 // bytes of a link's target
)

func tooMany() error {
	return fault.New(fault.Limit, "more than %d files and folders, or more than %d levels", maxFiles, maxLevels)
}

// folderAt returns the tree at a path below a commit's tree.
func folderAt(rd *store.Reader, tree store.OID, p string) (store.OID, error) {
	if p == "" {
		return tree, nil
	}
	e, err := rd.Lookup(tree, p)
	switch {
	case fault.Is(err, fault.NotFound) || err == nil && e.ID.IsZero():
		return tree, fault.New(fault.NotFound, "no folder %s there", words.Quote(p))
	case err != nil:
		return tree, err
	case e.Mode == store.ModeGitlink:
		return tree, fault.New(fault.NotFound, "%s is another repository there, which has an address of its own", words.Quote(p))
	case !e.IsDir():
		return tree, fault.New(fault.NotFound, "%s is no folder there", words.Quote(p)).Advise("name its folder, %s", words.Quote(path.Dir(p)))
	}
	return e.ID, nil
}

// filesOf reads every file of a tree from outside, within limits. A name that no honest tree has
// refuses the whole. Attributes of git have no effect: the bytes are those of the commit.
func filesOf(ctx context.Context, rd *store.Reader, tree store.OID) (t foreign.Tree, err error) {
	seen, total := 0, int64(0)
	err = rd.Walk(ctx, tree, func(p string, e store.Entry) error {
		if seen++; seen > maxFiles || strings.Count(p, "/") >= maxLevels {
			return tooMany()
		}
		if err := honest(p); err != nil || e.IsDir() {
			return err
		}
		if e.Mode == store.ModeGitlink {
			t.Links = append(t.Links, foreign.Link{Path: p, Target: e.ID.String(), Module: true})
			return nil
		}
		_, size, err := rd.Stat(e.ID)
		if err != nil {
			return err
		}
		if total += size; total > maxBytes {
			return fault.New(fault.Limit, "its files have more than %d bytes", int64(maxBytes)).Advise("name a folder further down, with //<folder>")
		}
		if e.Mode == store.ModeSymlink {
			raw, err := rd.Blob(e.ID, maxLink)
			t.Links = append(t.Links, foreign.Link{Path: p, Target: string(raw)})
			return err
		}
		raw, err := rd.Blob(e.ID, objects.MaxBundleFile)
		t.Files = append(t.Files, foreign.File{Path: p, Data: raw, Executable: e.Mode == store.ModeExec})
		return err
	})
	return t, err
}

// honest refuses a path that leads elsewhere or into git's own files. A name that a bundle cannot
// hold is named when it would come in.
func honest(p string) error {
	name := strings.ToLower(path.Base(p))
	if name == "." || name == ".." || name == "/" || strings.ContainsRune(name, 0) || strings.TrimRight(name, " .") == ".git" {
		return fault.New(fault.Malformed, "tree entry %q: invalid name", words.Brief(p))
	}
	return nil
}

// pointer reports whether a file is only a pointer of Git LFS, whose content lies elsewhere.
func pointer(data []byte) bool {
	return len(data) < 1024 && strings.HasPrefix(string(data), "version https://git-lfs.github.com/spec/v1\n")
}
