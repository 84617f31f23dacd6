package origin

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"path"
	"strconv"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects/foreign"
	"github.com/rye-os/rye/store"
)

// Bounds of the files at one commit.
const (
	maxFiles  = 20_000
	maxLevels = 16
	maxBytes  = 256 << 20
	maxBlob   = 64 << 20 // bytes of a file that rye does not take, and only digests
	maxLink   = 4096     // bytes of a link's target
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

// filesOf reads every file of a tree from outside, within limits. It skips and names entries that
// rye does not take; a name that no honest tree has refuses the whole. Attributes of git have no
// effect: the bytes are those of the commit.
func filesOf(ctx context.Context, rd *store.Reader, tree store.OID) (foreign.Tree, error) {
	w := &walk{rd: rd}
	if err := rd.Walk(ctx, tree, w.entry); err != nil {
		return foreign.Tree{}, err
	}
	w.tree.Sums = foreign.SumsOfBlobs(w.all)
	if got := w.tree.Sums["."].Tree; len(w.all) > 0 && w.whole && got != tree.String() {
		return foreign.Tree{}, fault.New(fault.Malformed, "the tree %s has a form that git does not write", tree)
	}
	return w.tree, nil
}

// walk is one walk through a tree from outside, with its counts against the limits.
type walk struct {
	rd    *store.Reader
	tree  foreign.Tree
	all   []foreign.Blob
	whole bool
	seen  int
	total int64
}

func (w *walk) entry(p string, e store.Entry) error {
	w.whole = true
	if w.seen++; w.seen > maxFiles || strings.Count(p, "/") >= maxLevels {
		return tooMany()
	}
	if err := honest(p); err != nil || e.IsDir() {
		return err
	}
	if e.Mode == store.ModeGitlink {
		w.tree.Links = append(w.tree.Links, foreign.Link{Path: p, Target: e.ID.String(), Module: true})
		w.all = append(w.all, foreign.Blob{Path: p, Mode: modeText(e.Mode), ID: idOf(e.ID)})
		return nil
	}
	_, size, err := w.rd.Stat(e.ID)
	if err != nil {
		return err
	}
	if w.total += size; w.total > maxBytes {
		return fault.New(fault.Limit, "its files have more than %d bytes", int64(maxBytes)).Advise("name a folder further down, with //<folder>")
	}
	raw, err := w.rd.Blob(e.ID, maxBlob)
	if err != nil {
		return err
	}
	w.all = append(w.all, foreign.Blob{Path: p, Mode: modeText(e.Mode), ID: idOf(e.ID), Sum: sha256.Sum256(raw)})
	switch {
	case e.Mode == store.ModeSymlink && size <= maxLink:
		w.tree.Links = append(w.tree.Links, foreign.Link{Path: p, Target: string(raw)})
	case !e.Mode.IsFile():
		w.pass(p, "a link that is too long")
	default:
		w.tree.Files = append(w.tree.Files, foreign.File{Path: p, Data: raw, Executable: e.Mode == store.ModeExec})
	}
	return nil
}

func (w *walk) pass(p, why string) {
	w.tree.Passed = append(w.tree.Passed, foreign.Passed{Path: p, Why: why})
}

func modeText(m store.Mode) string { return strconv.FormatUint(uint64(m), 8) }

func idOf(id store.OID) (raw [sha1.Size]byte) {
	copy(raw[:], id.Bytes())
	return raw
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
