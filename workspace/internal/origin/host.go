package origin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/hosts"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/foreign"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
	"github.com/rye-os/rye/workspace/internal/share"
)

// contentLimits bound the objects of one commit. historyLimits bound the commits that are fetched to
// find one among them.
var (
	contentLimits = store.Limits{Objects: 50_000, Bytes: 64 << 20, Total: 256 << 20}
	historyLimits = store.Limits{Objects: 400_000, Bytes: 96 << 20, Total: 512 << 20}
)

// host is a repository of another person, with what was fetched from it: it lies in a temporary
// directory, and nothing of it stays.
type host struct {
	address string
	remote  *transport.Remote
	desk    *custody.Desk
	repo    *store.Repo // nil until something is fetched
	dir     string
}

// contact returns the repository at an address. It sends nothing yet. Unless a person typed the
// address, it has to be one on the public Internet.
func contact(d *custody.Desk, address string, typed bool) (*host, error) {
	rules, err := d.Rules()
	if err != nil {
		return nil, err
	}
	if src, err := objects.ParseSource(address); err != nil {
		return nil, err
	} else if err := session.AdmitSource(rules.Demands, sourceName(src)); err != nil {
		return nil, fault.Wrap(err, "%s", words.Brief(address))
	}
	if d.Offline {
		return nil, fault.New(fault.Offline, "%s: it must be asked over the network", words.Brief(address)).Advise("leave out --offline")
	}
	if err := d.NeedCache(); err != nil {
		return nil, err
	}
	o := share.TransportOf(d)
	o.ReadOnly, o.Public = true, !typed
	remote, err := transport.Dial(address, o)
	if err != nil {
		return nil, err
	}
	return &host{address: address, remote: remote, desk: d}, nil
}

// bring fetches objects into a quarantine. The first one makes the temporary repository: most hosts
// are only asked for their refs.
func (h *host) bring(ctx context.Context, want, have []store.OID, o transport.FetchOptions) (*store.Quarantine, transport.Stats, error) {
	if h.repo == nil {
		if err := h.makeRoom(); err != nil {
			return nil, transport.Stats{}, err
		}
	}
	return h.remote.Fetch(ctx, h.repo, want, have, o)
}

func (h *host) makeRoom() (err error) {
	h.desk.SweepStale()
	if err := os.MkdirAll(h.desk.CacheDir, 0o700); err != nil {
		return err
	}
	if h.dir, err = os.MkdirTemp(h.desk.CacheDir, "rye-add-*"); err != nil {
		return err
	}
	h.repo, err = store.Init(filepath.Join(h.dir, "add.git"), "refs/heads/main")
	return err
}

// Close ends the connection and removes what was fetched.
func (h *host) Close() {
	h.remote.Close()
	if h.repo != nil {
		h.repo.Close()
	}
	if h.dir != "" {
		os.RemoveAll(h.dir)
	}
}

// fetch brings objects into the temporary repository.
func (h *host) fetch(ctx context.Context, want []store.OID, o transport.FetchOptions) error {
	q, _, err := h.bring(ctx, want, nil, o)
	if err != nil {
		return err
	}
	defer q.Discard()
	return q.Accept(ctx, want...)
}

// commit is a commit that was fetched, and who signed it or its tag.
type commit struct {
	id     store.OID
	tree   store.OID
	signer trust.UpstreamKey // "" for none
	other  string            // a kind of signature that rye does not verify
}

// at reads the commit that a ref named, which was fetched.
func (h *host) at(t target) (commit, error) {
	id := t.tip
	kind, raw, err := h.repo.Object(id, store.MaxCommitSize)
	if err != nil {
		return commit{}, err
	}
	var c commit
	if kind == store.TypeTag {
		tag, err := store.ParseTag(raw)
		if err != nil {
			return c, err
		}
		name := strings.TrimPrefix(t.ref, tags)
		if t.ref != "" && tag.Name != name {
			// Otherwise a server could present an old version as a new one by moving refs.
			return c, fault.New(fault.Integrity, "the tag %s has another name in its object, %s", words.Quote(words.Brief(name)), words.Quote(words.Brief(tag.Name)))
		}
		signed, armor := tagSignature(raw)
		if c.signer, c.other, err = signer(signed, armor); err != nil {
			return c, fault.Wrap(err, "the tag %s", words.Quote(words.Brief(name)))
		}
		if id = tag.Target; tag.Type != store.TypeCommit {
			return c, fault.New(fault.Malformed, "the tag %s names a %s, not a commit", words.Quote(words.Brief(name)), tag.Type)
		}
		if kind, raw, err = h.repo.Object(id, store.MaxCommitSize); err != nil {
			return c, err
		}
	}
	if kind != store.TypeCommit {
		return c, fault.New(fault.Malformed, "%s is a %s, not a commit", id, kind)
	}
	up, err := readCommit(raw)
	if err != nil {
		return c, fault.Wrap(err, "commit %s", id)
	}
	c.id, c.tree = id, up.tree
	if c.signer == "" && c.other == "" {
		if c.signer, c.other, err = signer(up.signed, up.armor); err != nil {
			return c, fault.Wrap(err, "commit %s", id)
		}
	}
	return c, nil
}

// got is the content of a source at one commit.
type got struct {
	files foreign.Tree
	target
	commit
}

// get fetches the content of a source at a target: of its path alone, where the host can leave out
// the rest.
func (h *host) get(ctx context.Context, d *custody.Desk, src objects.Source, t target) (*got, error) {
	d.Say("fetching " + words.Brief(src.String()))
	o := transport.FetchOptions{Depth: 1, Limits: contentLimits}
	if src.Path != "" {
		o.Filter = "blob:none"
	}
	q, st, err := h.bring(ctx, []store.OID{t.tip}, nil, o)
	if err != nil {
		return nil, err
	}
	defer q.Discard()
	if !st.Filtered {
		if err := q.Connected(ctx, t.tip); err != nil && len(st.Shallow) == 0 {
			return nil, err
		}
	}
	if err := q.Accept(ctx, t.tip); err != nil {
		return nil, err
	}
	c, err := h.at(t)
	if err != nil {
		return nil, err
	}
	root, err := folderAt(&h.repo.Reader, c.tree, src.Path)
	if err != nil {
		return nil, err
	}
	if st.Filtered {
		if err := h.blobs(ctx, root); err != nil {
			return nil, err
		}
	}
	files, err := filesOf(ctx, &h.repo.Reader, root)
	if err != nil {
		return nil, err
	}
	return &got{files: files, target: t, commit: c}, nil
}

// blobs fetches the files of a folder that a filter left out.
func (h *host) blobs(ctx context.Context, root store.OID) error {
	var want []store.OID
	seen := map[store.OID]bool{}
	err := h.repo.Walk(ctx, root, func(p string, e store.Entry) error {
		if e.IsDir() || e.Mode == store.ModeGitlink || seen[e.ID] || h.repo.Has(e.ID) {
			return nil
		}
		if seen[e.ID] = true; len(seen) > maxFiles {
			return tooMany()
		}
		want = append(want, e.ID)
		return nil
	})
	if err != nil || len(want) == 0 {
		return err
	}
	return h.fetch(ctx, want, transport.FetchOptions{Limits: contentLimits})
}

// insideAddress reports whether an address names a host that is not on the public Internet.
func insideAddress(address string) string {
	at := address
	if _, rest, ok := strings.Cut(at, "://"); ok {
		at = rest
	}
	at, _, _ = strings.Cut(at, "/")
	if i := strings.LastIndexByte(at, '@'); i >= 0 {
		at = at[i+1:]
	}
	if !strings.HasPrefix(at, "[") {
		at, _, _ = strings.Cut(at, ":")
	} else {
		at, _, _ = strings.Cut(strings.TrimPrefix(at, "["), "]")
	}
	return hosts.Inside(at)
}

func short(id fmt.Stringer) string {
	s := id.String()
	return s[:min(12, len(s))]
}
