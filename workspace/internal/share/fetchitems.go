package share

import (
	"context"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/foreign"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// repositoryLimits bound the objects fetched from a repository that is not a registry.
var repositoryLimits = store.Limits{Objects: 50_000, Bytes: 64 << 20, Total: 256 << 20}

// Bounds of the files at its newest commit.
const (
	maxFiles  = 20_000
	maxLevels = 64
	maxLink   = 4096 // bytes of a link's text
	maxBytes  = 256 << 20
)

// FetchTree fetches the newest commit of any git repository and returns it with its files.
// The address may end in # and the name of a branch or tag. The signatures of tags and
// commits are not checked: an item is trusted by its own. Nothing stays on disk.
func FetchTree(ctx context.Context, s *custody.Desk, address string) (foreign.Tree, error) {
	if s.Offline {
		return foreign.Tree{}, fault.New(fault.Offline, "add %s: it must be fetched from the network", address).Advise("leave out --offline")
	}
	if err := s.NeedCache(); err != nil {
		return foreign.Tree{}, err
	}
	if err := os.MkdirAll(s.CacheDir, 0o700); err != nil {
		return foreign.Tree{}, err
	}
	dir, err := os.MkdirTemp(s.CacheDir, "rye-add-*")
	if err != nil {
		return foreign.Tree{}, err
	}
	defer os.RemoveAll(dir)
	return fetchInto(ctx, s, address, filepath.Join(dir, "add.git"))
}

// fetchInto fetches the newest commit of a repository into a new one at dir, and returns
// its files.
func fetchInto(ctx context.Context, s *custody.Desk, address, dir string) (foreign.Tree, error) {
	address, name, _ := strings.Cut(address, "#")
	o := transportOf(s)
	o.ReadOnly = true
	remote, err := transport.Dial(address, o)
	if err != nil {
		return foreign.Tree{}, err
	}
	defer remote.Close()
	s.Say("fetching " + remote.String())
	repo, err := store.Init(dir, "refs/heads/main")
	if err != nil {
		return foreign.Tree{}, err
	}
	defer repo.Close()
	tip, err := tipOf(ctx, remote, name)
	if err != nil {
		return foreign.Tree{}, err
	}
	pack, _, err := remote.Fetch(ctx, repo, []store.OID{tip}, nil, transport.FetchOptions{Depth: 1, Limits: repositoryLimits})
	if err != nil {
		return foreign.Tree{}, err
	}
	defer pack.Discard()
	commit, files, err := filesAt(ctx, pack, tip, name)
	if err != nil {
		return foreign.Tree{}, fault.Wrap(err, "add %s", remote)
	}
	files.Name = strings.TrimSuffix(path.Base(strings.TrimRight(address, "/")), ".git")
	files.Origin = objects.Origin{Source: sourceOf(address), Commit: commit.String()}
	return files, nil
}

// sourceOf returns the address that an origin keeps; a directory of this machine gets file://.
func sourceOf(address string) string {
	if strings.Contains(address, ":") {
		return address
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(address)}).String()
}

// tipOf finds the branch or tag with that name; "" is the target of HEAD.
func tipOf(ctx context.Context, remote *transport.Remote, name string) (store.OID, error) {
	prefixes := []string{"HEAD"}
	if name != "" {
		prefixes = []string{"refs/heads/" + name, "refs/tags/" + name}
	}
	refs, err := remote.Refs(ctx, prefixes...)
	if err != nil {
		return store.OID{}, err
	}
	var tip store.OID
	for _, p := range prefixes {
		id := refs[p]
		if !tip.IsZero() && !id.IsZero() && id != tip {
			return id, fault.New(fault.Conflict, "add %s: %q is both a branch and a tag there, and they differ", remote, name)
		}
		if !id.IsZero() {
			tip = id
		}
	}
	if tip.IsZero() {
		return tip, fault.New(fault.NotFound, "add %s: no %s there", remote, strings.Join(prefixes, " and no "))
	}
	return tip, nil
}

// filesAt returns the commit that a fetched ref names, and its files.
func filesAt(ctx context.Context, pack *store.Quarantine, tip store.OID, name string) (store.OID, foreign.Tree, error) {
	c, err := commitOf(&pack.Reader, tip, name)
	if err != nil {
		return store.OID{}, foreign.Tree{}, err
	}
	if err := pack.Connected(ctx, c.Tree); err != nil {
		return store.OID{}, foreign.Tree{}, err
	}
	t, err := filesOf(ctx, &pack.Reader, c.Tree)
	return c.ID, t, err
}

// commitOf returns the commit that a ref named. An annotated tag must have the name of its ref:
// otherwise a server could present an old version as a new one by moving refs. Beyond that a
// tag proves nothing, signed or not.
func commitOf(rd *store.Reader, id store.OID, name string) (*store.Commit, error) {
	t, _, err := rd.Stat(id)
	if err != nil {
		return nil, err
	}
	if t != store.TypeTag {
		return rd.Commit(id)
	}
	_, raw, err := rd.Object(id, store.MaxCommitSize)
	if err != nil {
		return nil, err
	}
	tag, err := store.ParseTag(raw)
	if err != nil {
		return nil, err
	}
	if tag.Name != name {
		return nil, fault.New(fault.Integrity, "the tag %q has another name in its object, %q", name, tag.Name)
	}
	return rd.Commit(tag.Target)
}

// filesOf reads every file of a tree from outside, within limits. It skips entries that are no
// files; a name that no honest tree has refuses the whole.
func filesOf(ctx context.Context, rd *store.Reader, tree store.OID) (t foreign.Tree, err error) {
	seen, total := 0, int64(0)
	err = rd.Walk(ctx, tree, func(p string, e store.Entry) error {
		if seen++; seen > maxFiles || strings.Count(p, "/") >= maxLevels {
			return fault.New(fault.Limit, "more than %d files and folders, or more than %d levels", maxFiles, maxLevels)
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
			return fault.New(fault.Limit, "its files have more than %d bytes", int64(maxBytes))
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
