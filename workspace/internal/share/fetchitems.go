package share

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// How much may be fetched of a repository that is not a registry, and how much its items
// may be.
var (
	repositoryLimits = store.Limits{Objects: 50_000, Bytes: 64 << 20, Total: 256 << 20}
	itemsLimits      = store.ContentLimits{Depth: 16, Entries: 10_000, Blob: objects.MaxItemSize, Total: 64 << 20}
)

// FetchItems fetches the newest commit of any git repository and returns it with the items
// below its .ai. The address may end in # and the name of a branch or tag. The signatures of
// tags and commits are not checked: an item counts by its own. Nothing stays on disk.
func FetchItems(ctx context.Context, s *Desk, address string) (store.OID, []*objects.Item, error) {
	if s.Offline {
		return store.OID{}, nil, fault.New(fault.Offline, "add %s: it has to be fetched", address).Advise("leave out --offline")
	}
	if err := s.NeedCache(); err != nil {
		return store.OID{}, nil, err
	}
	if err := os.MkdirAll(s.CacheDir, 0o700); err != nil {
		return store.OID{}, nil, err
	}
	dir, err := os.MkdirTemp(s.CacheDir, "rye-add-*")
	if err != nil {
		return store.OID{}, nil, err
	}
	defer os.RemoveAll(dir)
	return fetchInto(ctx, s, address, filepath.Join(dir, "add.git"))
}

// fetchInto fetches the newest commit of a repository into a new one at dir, and returns
// its items.
func fetchInto(ctx context.Context, s *Desk, address, dir string) (store.OID, []*objects.Item, error) {
	url, name, _ := strings.Cut(address, "#")
	o := s.transport()
	o.ReadOnly = true
	remote, err := transport.Dial(url, o)
	if err != nil {
		return store.OID{}, nil, err
	}
	defer remote.Close()
	s.Say("fetching " + remote.String())
	repo, err := store.Init(dir, "refs/heads/main")
	if err != nil {
		return store.OID{}, nil, err
	}
	defer repo.Close()
	tip, err := tipOf(ctx, remote, name)
	if err != nil {
		return store.OID{}, nil, err
	}
	pack, _, err := remote.Fetch(ctx, repo, []store.OID{tip}, nil, transport.FetchOptions{Depth: 1, Limits: repositoryLimits})
	if err != nil {
		return store.OID{}, nil, err
	}
	defer pack.Discard()
	commit, items, err := itemsAt(ctx, pack, tip, name)
	if err != nil {
		return store.OID{}, nil, fault.Wrap(err, "add %s", remote)
	}
	return commit, items, nil
}

// tipOf finds the branch or tag of that name; "" is what HEAD names.
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
			return id, fault.New(fault.Conflict, "add %s: %q is a branch and a tag there, and they differ", remote, name)
		}
		if !id.IsZero() {
			tip = id
		}
	}
	if tip.IsZero() {
		return tip, fault.New(fault.NotFound, "add %s: there is no %s", remote, strings.Join(prefixes, " and no "))
	}
	return tip, nil
}

// itemsAt returns the commit that a fetched ref names, and its items.
func itemsAt(ctx context.Context, pack *store.Quarantine, tip store.OID, name string) (store.OID, []*objects.Item, error) {
	c, err := commitOf(&pack.Reader, tip, name)
	if err != nil {
		return store.OID{}, nil, err
	}
	if err := pack.Connected(ctx, c.Tree); err != nil {
		return store.OID{}, nil, err
	}
	items, err := itemsOf(ctx, &pack.Reader, c.Tree)
	if err == nil && len(items) == 0 {
		err = fault.New(fault.NotFound, "no items below .ai there")
	}
	return c.ID, items, err
}

// commitOf returns the commit that a ref named. An annotated tag must have the name of its
// ref: otherwise a server could pass off an old version as a new one by moving refs. Beyond
// that a tag proves nothing, signed or not.
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
		return nil, fault.New(fault.Integrity, "what it calls tag %q is tag %q", name, tag.Name)
	}
	return rd.Commit(tag.Target)
}

// itemsOf reads every item below .ai of a tree from outside. It reads only the directories
// of kinds, and all of each must pass the rule for outside content.
func itemsOf(ctx context.Context, rd *store.Reader, tree store.OID) ([]*objects.Item, error) {
	var items []*objects.Item
	for _, kind := range objects.Kinds {
		dir := kind.Dir()
		top, err := rd.Lookup(tree, ".ai/"+dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !top.IsDir() {
			return nil, fault.New(fault.Malformed, ".ai/%s is no directory there", dir)
		}
		if err := rd.CheckContent(ctx, top.ID, itemsLimits); err != nil {
			return nil, fault.Wrap(err, ".ai/%s", dir)
		}
		err = rd.Walk(ctx, top.ID, func(p string, e store.Entry) error {
			if e.IsDir() {
				return nil
			}
			it, err := readItem(rd, dir+"/"+p, e.ID)
			items = append(items, it)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return items, nil
}

func readItem(rd *store.Reader, p string, blob store.OID) (*objects.Item, error) {
	if _, _, err := objects.RefOfPath(p); err != nil {
		return nil, fault.New(fault.Malformed, ".ai/%s is no item: %w", p, err)
	}
	raw, err := rd.Blob(blob, objects.MaxItemSize)
	if err != nil {
		return nil, err
	}
	return objects.Parse(p, raw)
}
