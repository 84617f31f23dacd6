package space

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

const maxDamage = 20 // reported one by one; further damage is reported once

// Checked is the result of Fsck for the store of a layer.
type Checked struct {
	Dir      string // of the store; "" if there is none yet
	Objects  int    // read, each hashed
	Commits  int    // on the layer's ref
	Unsigned int    // commits without a signature
	Signers  map[trust.PublicKey]int
	Damage   []error // each with a hint; empty if all is well
}

// Fsck checks the layer's store: HEAD, every ref and its log, and each object that these
// reach. On the layer's own ref it checks that the commits form one line and that their
// signatures match their bytes. At the end it reports each limit at which a read of the record
// or the working tree stops. It continues after damage, changes nothing, and fails only with
// ctx.
func (l *Layer) Fsck(ctx context.Context) (*Checked, error) {
	f := &fsck{l: l, types: map[store.OID]store.Type{}}
	f.Signers = map[trust.PublicKey]int{}
	if err := l.load(); err != nil {
		f.damage(err)
		return &f.Checked, nil
	}
	if l.repo == nil {
		return &f.Checked, f.limits(ctx)
	}
	f.Dir = l.repo.Dir()
	f.head()
	f.refs()
	f.mend = sync.OnceValue(func() fault.Hint { return f.l.mend(ctx) })
	if err := f.objects(ctx); err != nil {
		return &f.Checked, err
	}
	if err := f.packs(ctx); err != nil {
		return &f.Checked, err
	}
	if err := f.line(ctx); err != nil {
		return &f.Checked, err
	}
	return &f.Checked, f.limits(ctx)
}

// fsck is one run.
type fsck struct {
	Checked
	l     *Layer
	types map[store.OID]store.Type // of the objects that were read; 0 for unreadable ones
	todo  []toRead
	mend  func() fault.Hint // for missing or damaged objects
}

// toRead is an object that a ref or another object names.
type toRead struct {
	id     store.OID
	want   store.Type // the required type; 0: any
	place  string     // the origin of the id, for people
	folder string     // for a tree: its path, with a slash at the end; "" at the top
}

func (f *fsck) damage(err error) {
	var hinted *fault.Error
	if !errors.As(err, &hinted) || hinted.Hint.IsZero() {
		err = fault.New(fault.Integrity, "%w", err).With(f.l.anew())
	}
	switch n := len(f.Damage); {
	case n < maxDamage:
		f.Damage = append(f.Damage, err)
	case n == maxDamage:
		f.Damage = append(f.Damage, fault.New(fault.Integrity, "and there is more").With(f.l.anew()))
	}
}

// head checks the target of HEAD: git clone and git log start there.
func (f *fsck) head() {
	switch name, err := f.l.repo.Head(); {
	case err != nil:
		f.damage(fault.New(fault.Integrity, "%w", err).With(f.l.mendHead()))
	case name == "":
		f.damage(fault.New(fault.Integrity, "HEAD is detached, and must name %s", f.l.Ref()).With(f.l.mendHead()))
	case name != f.l.Ref():
		f.damage(fault.New(fault.Integrity, "HEAD names %s, not %s", name, f.l.Ref()).With(f.l.mendHead()))
	}
}

// refs checks every ref, and queues the objects that refs and their logs name.
func (f *fsck) refs() {
	r := f.l.repo
	_, broken := f.l.tip()
	if broken != nil {
		f.damage(broken)
	}
	refs, err := r.Refs("refs/")
	if err != nil && broken == nil { // broken already names the first unreadable ref
		f.damage(err)
	}
	for _, ref := range refs {
		want := store.Type(0)
		if strings.HasPrefix(ref.Name, "refs/heads/") || ref.Name == f.l.Ref() {
			want = store.TypeCommit
		}
		f.push(toRead{id: ref.ID, want: want, place: "ref " + ref.Name})
	}
	roots, err := r.Roots() // also the ids in the logs that exist here
	if err != nil && len(f.Damage) == 0 {
		f.damage(err)
	}
	if moves, err := r.RefLog(f.l.Ref()); err == nil && broken != nil {
		for _, m := range moves {
			roots = append(roots, m.New)
		}
	}
	for _, id := range roots {
		f.push(toRead{id: id, place: "the log of a ref"})
	}
}

func (f *fsck) push(o toRead) {
	if !o.id.IsZero() {
		f.todo = append(f.todo, o)
	}
}

// objects reads all named objects, each once. It compares the type of each with the type that
// its users expect.
func (f *fsck) objects(ctx context.Context) error {
	for len(f.todo) > 0 {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		o := f.todo[len(f.todo)-1]
		f.todo = f.todo[:len(f.todo)-1]
		typ, known := f.types[o.id]
		if !known {
			typ = f.read(o)
		}
		if typ != 0 && o.want != 0 && typ != o.want {
			f.damage(fault.New(fault.Integrity, "%s: %s is a %s, where a %s belongs", o.place, o.id, typ, o.want).With(f.mend()))
		}
	}
	return nil
}

// read reads one object and queues its links. It returns the type, or 0 for an unreadable
// object.
func (f *fsck) read(o toRead) store.Type {
	typ, raw, err := f.l.repo.Check(o.id)
	f.types[o.id] = typ
	if err != nil {
		f.damage(fault.New(fault.Integrity, "%s: %v", o.place, err).With(f.mend()))
		return 0
	}
	f.Objects++
	if err := f.follow(o, typ, raw); err != nil {
		f.damage(fault.New(fault.Integrity, "%s: %s %s: %v", o.place, typ, o.id, err).With(f.mend()))
	}
	return typ
}

// packs reads all packs, because a broken pack may hold only objects that are elsewhere too.
func (f *fsck) packs(ctx context.Context) error {
	wrong, err := f.l.repo.BrokenPacks(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, w := range append(wrong, err) {
		if w != nil {
			f.damage(fault.New(fault.Integrity, "%v", w).With(f.mendPack()))
		}
	}
	return nil
}

// mendPack returns the hint for a broken pack: if everything else is intact, move the pack
// away.
func (f *fsck) mendPack() fault.Hint {
	if len(f.Damage) > 0 {
		return f.mend()
	}
	return fault.Advice("all refs are intact without it: move its .pack and .idx out of %s, then rye fsck", filepath.Join(f.Dir, "objects", "pack"))
}

// follow queues the links of an object.
func (f *fsck) follow(o toRead, typ store.Type, raw []byte) error {
	switch typ {
	case store.TypeCommit:
		tree, parents, err := store.CommitLinks(raw)
		if err != nil {
			return err
		}
		at := "commit " + o.id.String()[:12]
		f.push(toRead{id: tree, want: store.TypeTree, place: "the tree of " + at})
		for _, p := range parents {
			f.push(toRead{id: p, want: store.TypeCommit, place: "parent of " + at})
		}
	case store.TypeTree:
		entries, err := store.ParseTree(f.l.repo.Format(), raw)
		if err != nil {
			return err
		}
		for _, e := range entries {
			p := o.folder + e.Name
			if why := badEntry(e); why != "" {
				f.damage(fault.New(fault.Integrity, "tree %s: %q is %s", o.id, p, why).With(f.l.anew()))
			}
			switch {
			case e.IsDir():
				f.push(toRead{id: e.ID, want: store.TypeTree, place: p, folder: p + "/"})
			case e.Type() == store.TypeBlob:
				f.push(toRead{id: e.ID, want: store.TypeBlob, place: p})
			}
		}
	case store.TypeTag:
		tag, err := store.ParseTag(raw)
		if err != nil {
			return err
		}
		f.push(toRead{id: tag.Target, want: tag.Type, place: "tag " + tag.Name})
	}
	return nil
}

// badEntry returns the flaw of an entry that a rye record cannot have: a name that a checkout
// would write elsewhere, or an entry that is neither a file nor a directory.
func badEntry(e store.Entry) string {
	switch {
	case !fs.ValidPath(e.Name) || e.Name == "." || strings.ContainsAny(e.Name, "/\\\x00"):
		return "a name that leads out of its directory"
	case strings.EqualFold(e.Name, ".git"):
		return "a name that git keeps for itself"
	case !e.IsDir() && e.Type() != store.TypeBlob:
		return "a commit of another repository"
	case e.Mode == store.ModeSymlink:
		return "a link"
	}
	return ""
}

// line checks the layer's own ref: the commits are one line, and their signatures hold.
func (f *fsck) line(ctx context.Context) error {
	tip, err := f.l.tip()
	if err != nil || tip == nil {
		return nil // reported already
	}
	err = f.l.repo.Log(ctx, tip.ID, func(c *store.Commit) error {
		f.Commits++
		if len(c.Parents) > 1 {
			f.damage(fault.New(fault.Integrity, "commit %s: %d parents, where the record has one line of history", c.ID, len(c.Parents)).
				With(f.l.anew()))
		}
		if c.Signature == "" {
			f.Unsigned++
			return nil
		}
		key, err := trust.VerifySSHSIG(c.Signature, trust.GitNamespace, c.Unsigned())
		if err != nil {
			f.damage(fault.New(fault.Integrity, "commit %s: its signature: %v", c.ID, err).With(f.l.anew()))
			return nil
		}
		f.Signers[key]++
		return nil
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil && len(f.Damage) == 0 {
		f.damage(err)
	}
	return nil
}

// limits lists the record and the working tree like every other read. An intact store may
// still name more files than rye reads.
func (f *fsck) limits(ctx context.Context) error {
	record := f.l.Recorded(ctx, func(string, store.OID) error { return nil })
	_, tree := f.l.list(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, err := range []error{record, tree} {
		if fault.Is(err, fault.Limit) {
			f.damage(err)
		}
	}
	return nil
}

// mend returns the hint for a store with missing or damaged objects: a repair, if the logs
// have an intact position.
func (l *Layer) mend(ctx context.Context) fault.Hint {
	all, err := store.BrokenRefs(ctx, l.repo)
	own := func(b store.BrokenRef) bool { return !strings.HasPrefix(b.Name, "refs/rye/") }
	switch {
	case err == nil && slices.ContainsFunc(all, store.BrokenRef.Mendable):
		return repair()
	case err == nil && !slices.ContainsFunc(all, own):
		return fault.Advice("rye pull, then rye lock, to bring back the refs below refs/rye")
	}
	return l.anew()
}

// anew returns the hint for an unreadable record: keep the damaged store, then review and
// record the working tree again.
func (l *Layer) anew() fault.Hint {
	return fault.Advice("restore %s from a copy, or begin a new record: mv %[1]s %[1]s.damaged, then rye trust", l.Store)
}

func (l *Layer) mendHead() fault.Hint {
	return fault.Advice("echo 'ref: %s' > %s", l.Ref(), filepath.Join(l.Store, "HEAD"))
}
