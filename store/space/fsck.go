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

const (
	maxFsckObject = 1 << 30 // bytes
	maxDamage     = 20      // told one by one; that there is more is one more
)

// Checked is what Fsck found in the store of a layer.
type Checked struct {
	Dir      string // of the store; "" when there is none yet
	Objects  int    // read, each hashed
	Commits  int    // of these, on the layer's ref
	Unsigned int    // of these, without a signature
	Signers  map[trust.PublicKey]int
	Damage   []error // each with a hint; empty when all is well
}

// Fsck checks the layer's store: HEAD, every ref and its log, each object that these
// reach, and on the layer's own ref that the commits are one line and their signatures
// those of their bytes. It goes on after what is damaged, changes nothing, and fails
// only with ctx.
func (l *Layer) Fsck(ctx context.Context) (*Checked, error) {
	f := &fsck{l: l, seen: map[store.OID]bool{{}: true}}
	f.Signers = map[trust.PublicKey]int{}
	if err := l.load(); err != nil {
		f.damage(err)
		return &f.Checked, nil
	}
	if l.repo == nil {
		return &f.Checked, nil
	}
	f.Dir = l.repo.Dir()
	f.head()
	f.refs()
	f.mend = sync.OnceValue(func() fault.Hint { return mend(ctx, f.l) })
	if err := f.objects(ctx); err != nil {
		return &f.Checked, err
	}
	return &f.Checked, f.line(ctx)
}

// fsck is one run.
type fsck struct {
	Checked
	l    *Layer
	seen map[store.OID]bool
	todo []toRead
	mend func() fault.Hint // for what is missing or damaged
}

// toRead is an object that something names.
type toRead struct {
	id     store.OID
	place  string // what names it, for people
	folder string // of a tree: its path, with a slash behind; "" at the top
	blind  bool   // only to be hashed: what it leads to was found already
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

// head checks where HEAD points: git clone and git log take it from there.
func (f *fsck) head() {
	switch name, err := f.l.repo.Head(); {
	case err != nil:
		f.damage(fault.New(fault.Integrity, "%w", err).With(f.l.mendHead()))
	case name == "":
		f.damage(fault.New(fault.Integrity, "HEAD is detached: it should name %s", f.l.Ref()).With(f.l.mendHead()))
	case name != f.l.Ref():
		f.damage(fault.New(fault.Integrity, "HEAD names %s, not %s", name, f.l.Ref()).With(f.l.mendHead()))
	}
}

// refs checks every ref, and has what they and their logs name read.
func (f *fsck) refs() {
	r := f.l.repo
	_, broken := f.l.tip()
	if broken != nil {
		f.damage(broken)
	}
	refs, err := r.Refs("refs/")
	if err != nil && broken == nil { // which names the first that cannot be read
		f.damage(err)
	}
	for _, ref := range refs {
		f.name(ref.ID, "ref "+ref.Name)
	}
	roots, err := r.Roots() // and what the logs name, as far as it is here
	if err != nil && len(f.Damage) == 0 {
		f.damage(err)
	}
	if moves, err := r.RefLog(f.l.Ref()); err == nil && broken != nil {
		for _, m := range moves {
			roots = append(roots, m.New)
		}
	}
	for _, id := range roots {
		f.name(id, "the log of a ref")
	}
}

func (f *fsck) name(id store.OID, place string) { f.push(toRead{id: id, place: place}) }

func (f *fsck) push(o toRead) {
	if !f.seen[o.id] {
		f.seen[o.id] = true
		f.todo = append(f.todo, o)
	}
}

// objects reads what is named until nothing new is.
func (f *fsck) objects(ctx context.Context) error {
	for len(f.todo) > 0 {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		o := f.todo[len(f.todo)-1]
		f.todo = f.todo[:len(f.todo)-1]
		typ, raw, err := f.l.repo.Object(o.id, maxFsckObject)
		if err != nil {
			f.damage(fault.New(fault.Integrity, "%s: %v", o.place, err).With(f.mend()))
			continue
		}
		f.Objects++
		if o.blind {
			continue
		}
		if err := f.follow(ctx, o, typ, raw); err != nil {
			f.damage(fault.New(fault.Integrity, "%s: %s %s: %v", o.place, typ, o.id, err).With(f.mend()))
		}
	}
	return nil
}

// follow has read what an object leads to.
func (f *fsck) follow(ctx context.Context, o toRead, typ store.Type, raw []byte) error {
	switch typ {
	case store.TypeCommit:
		c, err := store.ParseCommit(raw)
		if err != nil { // written by another program, with headers that rye does not write
			return f.byReach(ctx, o)
		}
		at := "commit " + o.id.String()[:12]
		f.push(toRead{id: c.Tree, place: "the tree of " + at})
		for _, p := range c.Parents {
			f.name(p, "parent of "+at)
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
				f.push(toRead{id: e.ID, place: p, folder: p + "/"})
			case e.Type() == store.TypeBlob:
				f.push(toRead{id: e.ID, place: p, blind: true})
			}
		}
	case store.TypeTag:
		return f.byReach(ctx, o)
	}
	return nil
}

// badEntry says what is wrong with an entry that no record of rye's can hold: what a
// checkout would write elsewhere, and what is neither a file nor a directory.
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

// byReach has read what the store finds from an object that is not taken apart here.
func (f *fsck) byReach(ctx context.Context, o toRead) error {
	all, err := f.l.repo.Reach(ctx, []store.OID{o.id}, nil, store.ReachOptions{})
	if err != nil {
		return err
	}
	for _, id := range all.Objects {
		f.push(toRead{id: id, place: o.place, blind: true})
	}
	return nil
}

// line checks the layer's own ref: one commit after the other, and who signed them.
func (f *fsck) line(ctx context.Context) error {
	tip, err := f.l.tip()
	if err != nil || tip == nil {
		return nil // told already
	}
	err = f.l.repo.Log(ctx, tip.ID, func(c *store.Commit) error {
		f.Commits++
		if len(c.Parents) > 1 {
			f.damage(fault.New(fault.Integrity, "commit %s: %d parents, where the record is one line", c.ID, len(c.Parents)).
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

// mend is what mends a store of which something is missing or damaged: a way back, where
// its logs know one.
func mend(ctx context.Context, l *Layer) fault.Hint {
	all, err := store.BrokenRefs(ctx, l.repo)
	own := func(b store.BrokenRef) bool { return !strings.HasPrefix(b.Name, "refs/rye/") }
	switch {
	case err == nil && slices.ContainsFunc(all, store.BrokenRef.Mendable):
		return repair()
	case err == nil && !slices.ContainsFunc(all, own):
		return fault.Advice("rye pull, then rye lock, which bring back what is below refs/rye")
	}
	return l.anew()
}

// anew is what mends a record that cannot be read: what is damaged is kept, and what
// the working tree holds is looked at and recorded again.
func (l *Layer) anew() fault.Hint {
	return fault.Advice("bring %s back from a copy, or begin a new record: mv %[1]s %[1]s.damaged, then rye trust", l.Store)
}

func (l *Layer) mendHead() fault.Hint {
	return fault.Advice("echo 'ref: %s' > %s", l.Ref(), filepath.Join(l.Store, "HEAD"))
}
