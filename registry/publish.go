package registry

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// Item is a verified item to be published. Its file goes out byte for byte, its
// author's signature with it. Of a package the file is the manifest.
type Item struct {
	Verified trust.Verified
	Meta     Meta
	Files    func(path string) ([]byte, error) // of a package, by their paths in the manifest
}

// Publication says what to publish.
type Publication struct {
	Namespace string
	Items     []Item
	By        By   // signs the operations; must hold an active key of the namespace
	DryRun    bool // check everything, change nothing

	// Granted, of a dry run, looks at the namespace as if the root had granted it to the
	// signer, where it granted it to nobody.
	Granted bool
	// Check may refuse what the keys of the namespace will be, before anything is sent.
	Check func(Binding) error
}

// An UngrantedError says that the root has granted a namespace to nobody, in a registry
// where only that gives one (code Untrusted).
type UngrantedError struct {
	Namespace string
	Registry  string // what it calls itself
}

func (e *UngrantedError) Error() string {
	return fmt.Sprintf("publish to %s: the root of %q has not granted this namespace to anybody", e.Namespace, e.Registry)
}

// Receipt tells what a publication did, or with DryRun would do.
type Receipt struct {
	Published  []Release
	Unchanged  []Release // were there already, with the same bytes
	Claimed    bool      // the namespace was claimed on the way
	Operations int       // appended to the log
	Tip        Point     // of the namespace afterwards
	Tries      int       // 1 unless other publishers were faster
}

// Publish appends new versions to a namespace's log: as many operations as
// needed and one ref update, so that others see all of it or nothing. A version
// that is there with the same bytes is no error; with other bytes it is
// (Integrity) and nothing is published. An unclaimed namespace is claimed for the
// signer's key when the registry allows.
func (r *Registry) Publish(ctx context.Context, p Publication) (Receipt, error) {
	entries, items, err := p.entries()
	if err != nil {
		return Receipt{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	job := &publishing{p: p, entries: entries, items: items}
	got, err := r.advance(ctx, change{
		namespace: p.Namespace, by: p.By, dry: p.DryRun, refs: refsOf(entries),
		plan: job.plan, prepare: job.prepare, as: job.as, check: job.check,
	})
	if err != nil {
		return Receipt{}, err
	}
	return job.receipt(got)
}

// entries checks what is to be published and sorts it as it will be appended:
// by the catalogue's files, so that each operation rewrites few of them.
func (p *Publication) entries() ([]Entry, map[objects.Digest]Item, error) {
	if err := CheckNamespace(p.Namespace); err != nil {
		return nil, nil, fault.New(fault.Usage, "publish: %w", err)
	}
	if len(p.Items) == 0 {
		return nil, nil, fault.New(fault.Usage, "publish to %s: no items", p.Namespace)
	}
	items := make(map[objects.Digest]Item, len(p.Items))
	out := make([]Entry, 0, len(p.Items))
	for _, item := range p.Items {
		e, err := p.entry(item)
		if err != nil {
			return nil, nil, err
		}
		items[e.Sum] = item
		out = append(out, e)
	}
	sortEntries(out, func(ref objects.Ref) byte { return shardOf(ref) })
	for i := 1; i < len(out); i++ {
		if out[i-1].Ref == out[i].Ref && out[i-1].Version == out[i].Version {
			return nil, nil, fault.New(fault.Usage, "publish %s: it is given twice", out[i].Name())
		}
	}
	return out, items, nil
}

// sortEntries sorts by what first says of an item, then as compareKey does.
func sortEntries(list []Entry, first func(objects.Ref) byte) {
	type keyed struct {
		first byte
		item  string
		Entry
	}
	all := make([]keyed, len(list))
	for i, e := range list {
		all[i] = keyed{first(e.Ref), e.Ref.Published(), e}
	}
	slices.SortFunc(all, func(a, b keyed) int {
		return cmp.Or(cmp.Compare(a.first, b.first), strings.Compare(a.item, b.item), strings.Compare(a.Version, b.Version))
	})
	for i := range all {
		list[i] = all[i].Entry
	}
}

func (p *Publication) entry(item Item) (Entry, error) {
	it := item.Verified.Item()
	e := Entry{Ref: it.Ref, Version: it.Meta.Version, Path: objects.PublishedPath(it), Sum: it.Sum, Size: int64(len(it.Raw)),
		Author: item.Verified.Key().Fingerprint(), Meta: item.Meta}
	refuse := func(code fault.Code, format string, args ...any) *fault.Error {
		return fault.New(code, "publish %s: "+format, append([]any{it.Ref}, args...)...)
	}
	switch {
	case it.Ref.ID.Namespace() != p.Namespace || it.Ref.Published() == "":
		return e, refuse(fault.Usage, "is not of namespace %s", p.Namespace)
	case item.Verified.Level() != trust.Signed:
		return e, refuse(fault.Untrusted, "only an item with a signature line of its own can be published").Advise("take it out of its bundle, then rye sign %s", it.Ref)
	case e.Version == "":
		return e, refuse(fault.Malformed, "has no version").Advise("add a version like 1.0.0 to %s and sign it", it.Path)
	case objects.DigestOf(it.Raw) != it.Sum:
		return e, refuse(fault.Integrity, "its bytes changed after it was read")
	}
	if it.Ref.Kind == objects.Bundle {
		if _, err := readManifest(&e, it.Raw); err != nil {
			return e, refuse(fault.CodeOf(err), "%w", err)
		}
	}
	probe := e
	probe.Commit = emptyTree // not made yet
	if err := probe.check(); err != nil {
		return e, refuse(fault.CodeOf(err), "%w", err)
	}
	return e, nil
}

// publishing is one publication under way. Versions do not depend on the
// log, so they are made once, however often the operations are rebuilt.
type publishing struct {
	p       Publication
	entries []Entry
	items   map[objects.Digest]Item // by the digest of the file

	claims bool
	made   []store.OID // the versions that were made, with everything below them
}

// as is the state under the grant that is yet to be made.
func (j *publishing) as(s State) State {
	if ns := j.p.Namespace; j.p.DryRun && j.p.Granted && s.root.Grant(ns) == nil {
		root := s.root
		root.Seq++
		root.grant(RootOp{Seq: root.Seq, Namespace: ns, Keys: []trust.PublicKey{j.p.By.Signer.Public()}})
		return s.WithRoot(root)
	}
	return s
}

func (j *publishing) check(after State) error {
	if j.p.Check == nil {
		return nil
	}
	return j.p.Check(Binding{Keys: after.Keys()})
}

func (j *publishing) plan(s State) ([]Op, error) {
	var fresh []Entry
	for i := range j.entries {
		old, err := s.lookup(j.entries[i].Ref, j.entries[i].Version)
		switch {
		case err != nil:
			return nil, err
		case old == nil:
			fresh = append(fresh, j.entries[i])
		case old.Sum != j.entries[i].Sum:
			return nil, changedVersion(old, j.entries[i].Sum)
		}
	}
	if len(fresh) == 0 {
		return nil, nil
	}
	var ops []Op
	if j.claims = s.Seq == 0; j.claims {
		claim, err := j.claim(s)
		if err != nil {
			return nil, err
		}
		ops = append(ops, claim)
	}
	for list := range slices.Chunk(fresh, MaxItems) {
		list = slices.Clone(list)
		sortEntries(list, func(objects.Ref) byte { return 0 })
		ops = append(ops, Op{Kind: OpPublish, Items: list})
	}
	return ops, nil
}

// claim returns the first operation of an unclaimed namespace.
func (j *publishing) claim(s State) (Op, error) {
	g := s.root.Grant(s.Namespace)
	if g == nil && s.root.Claims != ClaimsOpen {
		return Op{}, fault.New(fault.Untrusted, "%w", &UngrantedError{s.Namespace, s.root.Name}).
			Advise("ask a holder of the root for it, with the key %s", j.p.By.Signer.Public().Authorized())
	}
	if g == nil && trust.Reserved(s.Namespace) {
		return Op{}, fault.New(fault.Denied, "publish to %s: the namespace is reserved and cannot be claimed", s.Namespace)
	}
	return Op{Kind: OpClaim, Keys: []KeyGrant{{Public: j.p.By.Signer.Public()}}}, nil
}

// prepare begins to make the versions that are not made yet, in the order of
// the operations, on every processor: compressing is most of the work of a
// large publication. The operations are made meanwhile, each when ready has put its
// content into the batch.
func (j *publishing) prepare(ctx context.Context, p pen, b *store.Batch, ops []Op) preparation {
	at := make(map[string]*Entry, len(j.entries))
	for i := range j.entries {
		at[j.entries[i].Name()] = &j.entries[i]
	}
	wanted := make([][]*Entry, len(ops))
	var missing []*Entry
	for i := range ops {
		for _, e := range ops[i].Items {
			mine := at[e.Name()]
			wanted[i] = append(wanted[i], mine)
			if mine.Commit.IsZero() && mine.Ref.Kind != objects.Bundle {
				missing = append(missing, mine)
			}
		}
	}
	ctx, stop := context.WithCancel(ctx)
	made := j.makeContent(ctx, p, missing)
	return preparation{
		made: func() *[]store.OID { return &j.made },
		ready: func(i int) error {
			for k, e := range wanted[i] {
				if err := j.putPackage(b, p, e); err != nil {
					return err
				}
				for e.Commit.IsZero() {
					some, ok := <-made
					if !ok {
						return cmp.Or(context.Cause(ctx), errContentLost)
					}
					for _, c := range some {
						if err := c.add(b); err != nil {
							return err
						}
						for _, o := range c.objects {
							j.made = append(j.made, o.ID())
						}
					}
				}
				ops[i].Items[k].Commit = e.Commit
			}
			return nil
		},
		end: func() {
			stop()
			for range made { // to the end, so that no goroutine stays behind
			}
		},
	}
}

// putPackage adds a package to a batch, file by file, for it may be large: nothing is made
// ahead. What is no package, or was made before, is left.
func (j *publishing) putPackage(b *store.Batch, p pen, e *Entry) error {
	if e.Ref.Kind != objects.Bundle || !e.Commit.IsZero() {
		return nil
	}
	put := func(t store.Type, data []byte) (store.OID, error) {
		o, err := p.format.Pack(t, data)
		if err == nil {
			err = b.AddPacked(o)
			j.made = append(j.made, o.ID())
		}
		return o.ID(), err
	}
	item := j.items[e.Sum]
	raw := item.Verified.Item().Raw
	tree, err := putPackage(put, e, raw, func(f objects.File) ([]byte, error) { return item.Files(f.Path) })
	if err == nil {
		e.Commit, err = putCommit(put, e, raw, tree)
	}
	return err
}

// errContentLost would be a fault of ours: the workers make everything or say why not.
var errContentLost error = fault.New(fault.Failed, "publish: content was not made")

// A content is a version with everything below it; the commit is last.
type content struct {
	entry   *Entry
	objects []store.Packed
	err     error
}

// Contents are handed over by the dozen, for waking a goroutine costs as much as
// making one, and as many are made before they are asked for as the workers make while
// an operation is written.
const (
	dozen        = 16
	aheadContent = 32
)

// makeContent makes the content of list, begun in its order, until ctx ends. The
// channel is closed when nobody works any more.
func (j *publishing) makeContent(ctx context.Context, p pen, list []*Entry) <-chan []content {
	made := make(chan []content, aheadContent)
	todo := make(chan []*Entry, 1+len(list)/dozen)
	for some := range slices.Chunk(list, dozen) {
		todo <- some
	}
	close(todo)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(todo)) {
		workers.Go(func() {
			for some := range todo {
				done := make([]content, len(some))
				for i, e := range some {
					done[i] = j.content(ctx, p, e)
				}
				select {
				case made <- done:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	go func() {
		workers.Wait()
		close(made)
	}()
	return made
}

// add adds the content to a batch and notes its commit in the entry.
func (c *content) add(b *store.Batch) error {
	if c.err != nil {
		return c.err
	}
	for _, o := range c.objects {
		if err := b.AddPacked(o); err != nil {
			return err
		}
		c.entry.Commit = o.ID()
	}
	return nil
}

func (j *publishing) content(ctx context.Context, p pen, e *Entry) (c content) {
	c.entry = e
	put := func(t store.Type, data []byte) (store.OID, error) {
		o, err := p.format.Pack(t, data)
		c.objects = append(c.objects, o)
		return o.ID(), err
	}
	_, c.err = putVersion(put, e, j.items[e.Sum].Verified.Item().Raw)
	return c
}

// receipt sorts the entries into new and old: new is what was made here, and what the log
// credits to the signer.
func (j *publishing) receipt(got advanced) (Receipt, error) {
	s := got.state
	out := Receipt{Claimed: j.claims, Operations: got.ops, Tip: s.point(), Tries: got.tries}
	for i := range j.entries {
		e, err := s.Entry(j.entries[i].Ref, j.entries[i].Version)
		if err != nil {
			return out, err
		}
		mine := e.Commit == j.entries[i].Commit && e.Publisher == j.p.By.Signer.Public().Fingerprint()
		if j.p.DryRun {
			mine = e.Commit.IsZero()
		}
		if mine {
			out.Published = append(out.Published, s.release(e))
		} else {
			out.Unchanged = append(out.Unchanged, s.release(e))
		}
	}
	return out, nil
}
