package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// CommitOptions describe a commit.
type CommitOptions struct {
	Message    string       // must end in a newline; UTF-8
	Signer     CommitSigner // nil: unsigned
	Author     Ident        // also the committer
	When       time.Time
	Parents    []OID // further parents, after the tip of the ref
	AllowEmpty bool  // commit even when the tree does not change and Parents is empty
}

// commit returns the bytes of the commit, with its signature.
func (o CommitOptions) commit(ctx context.Context, tree OID, parents []OID) ([]byte, error) {
	if o.Message == "" || o.Message[len(o.Message)-1] != '\n' {
		return nil, fault.New(fault.Usage, "commit message %q: must end in a newline", words.Brief(o.Message))
	}
	if o.When.Unix() < 0 {
		return nil, fault.New(fault.Usage, "commit time %v: before 1970, or not set", o.When)
	}
	at := o.Author.At(o.When)
	return signCommit(ctx, Commit{Tree: tree, Parents: parents, Author: at, Committer: at, Message: o.Message}, o.Signer)
}

// maxLooseEdit is the largest number of objects that one Edit writes as loose files; more go
// into a pack.
const maxLooseEdit = 64

// Edit applies changes to the tree at the tip of ref and commits the result. It creates a
// missing ref. The repository's write lock orders the Edits of all rye processes. When plain
// git moves the ref meanwhile, the changes are applied to its new tip. The last writer of a
// path wins. A change that does not fit the tree, such as a file in place of a directory, is
// fault.Conflict. When nothing changes, Edit returns the tip and makes no commit (see
// CommitOptions). The commit is durable and reachable from ref. Edit compacts the repository
// when it has many files.
func (r *Repo) Edit(ctx context.Context, ref string, changes []Change, o CommitOptions) (OID, error) {
	e, err := newEdit(changes)
	if err != nil {
		return OID{}, fault.Wrap(err, "edit %s", ref)
	}
	at := func(OID) (*edit, error) { return e, nil }
	if slices.ContainsFunc(changes, func(c Change) bool { return c.Was != nil }) {
		at = func(base OID) (*edit, error) { return r.stillTrue(base, changes) }
	}
	if err := CheckRefName(ref); err != nil {
		return OID{}, err
	}
	var id OID
	many := false
	err = r.retryLocked(ctx, func() error {
		for try := 0; ; try++ {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			if id, err = r.editLocked(ctx, ref, at, o); !again(err) || try == maxEdits {
				many = r.write.loose < 0 || r.write.loose > maxLooseFiles
				return err
			}
		}
	})
	if err != nil {
		return OID{}, fault.Wrap(err, "edit %s", ref)
	}
	r.autoCompact(ctx, many)
	return id, nil
}

// maxEdits bounds the attempts at an edit while plain git interferes.
const maxEdits = 100

// again reports whether plain git interfered: it moved the ref, so the changes belong on its
// commit, or it pruned new objects that no ref named yet.
func again(err error) bool {
	var moved *ConflictError
	var gone *vanishedError
	return errors.As(err, &moved) || errors.As(err, &gone)
}

// editLocked makes one attempt under the write lock.
func (r *Repo) editLocked(ctx context.Context, ref string, at func(base OID) (*edit, error), o CommitOptions) (OID, error) {
	tip, err := r.Ref(ref)
	if err != nil && !isMissing(err) {
		return OID{}, err
	}
	var base OID
	var parents []OID
	if !tip.IsZero() {
		if base, err = r.treeOf(tip); err != nil {
			return OID{}, err
		}
		parents = append(parents, tip)
	}
	e, err := at(base)
	if err != nil {
		return OID{}, err
	}
	var objs collector
	w := editor{tree: r.Tree, add: objs.adder(r.format), has: r.Has}
	tree, err := w.apply(base, e)
	if err != nil {
		return OID{}, err
	}
	if tree == base && len(o.Parents) == 0 && !o.AllowEmpty {
		return tip, nil
	}
	raw, err := o.commit(ctx, tree, append(parents, o.Parents...))
	if err != nil {
		return OID{}, err
	}
	id, _ := objs.adder(r.format)(TypeCommit, raw)
	why := "commit: "
	if tip.IsZero() {
		why = "commit (initial): "
	}
	subject := words.FirstLine(o.Message)
	tx := &refTx{r: r, updates: []Update{{ref, tip, id}}, who: o.Author, why: why + subject}
	return id, r.publish(ctx, objs.list, tx)
}

// stillTrue returns the edit with only those changes whose Was holds in base.
func (r *Repo) stillTrue(base OID, changes []Change) (*edit, error) {
	var all []Change
	for _, c := range changes {
		if c.Was != nil {
			var e Entry
			var err error
			if !base.IsZero() {
				e, err = r.entryOrNone(base, c.Path)
			}
			if err != nil {
				return nil, err
			}
			if e.ID != *c.Was {
				continue
			}
		}
		all = append(all, c)
	}
	return newEdit(all)
}

// treeOf returns the tree of a commit, even if ParseCommit refuses the commit.
func (r *Reader) treeOf(commit OID) (OID, error) {
	raw, err := r.typed(commit, TypeCommit, MaxCommitSize)
	if err != nil {
		return OID{}, err
	}
	tree, _, _, err := commitLinks(raw)
	if err != nil {
		return OID{}, fault.Wrap(err, "commit %s", commit)
	}
	return tree, nil
}

// publish writes objects durably and then moves the ref to them. It syncs the new value of the
// ref together with the objects, which saves one wait for the disk. Objects that git pruned
// before the ref moved are written again.
func (r *Repo) publish(ctx context.Context, objs []object, tx *refTx) (err error) {
	defer tx.end(&err)
	if err := tx.stage(); err != nil {
		return err
	}
	if len(objs) > maxLooseEdit {
		b := r.NewBatch()
		defer b.Discard()
		if _, err := r.nestLocked(); err != nil {
			return err
		}
		err = atOnce(2, func(i int) error {
			if i == 0 {
				return b.putAll(ctx, objs)
			}
			return tx.sync(nil)
		})
	} else {
		err = r.publishLoose(objs, tx)
	}
	if err != nil {
		return err
	}
	if err := tx.move(); err != nil || len(objs) > maxLooseEdit { // a new pack is protected
		return err
	}
	return r.writeLost(objs)
}

// publishLoose writes a few objects as loose files. It creates all files, the new ref
// included, before it syncs the first: a sync of a new file also writes its directory entry,
// and with it all the others.
func (r *Repo) publishLoose(objs []object, tx *refTx) error {
	w, err := r.disk.stageLoose(tempName, objs)
	defer w.close()
	if err == nil {
		err = tx.sync(w.files)
	}
	if err == nil {
		err = w.name()
	}
	if err != nil {
		return fault.New(fault.Failed, "write objects: %w", err)
	}
	if r.write.loose >= 0 {
		r.write.loose += len(objs)
	}
	return nil
}

// collector gathers the objects of one edit, each object once.
type collector struct {
	list []object
	seen map[OID]bool
}

func (c *collector) adder(f Format) func(Type, []byte) (OID, error) {
	return func(t Type, data []byte) (OID, error) {
		id := f.Hash(t, data)
		if !c.seen[id] {
			if c.seen == nil {
				c.seen = map[OID]bool{}
			}
			c.seen[id] = true
			c.list = append(c.list, object{id, t, data})
		}
		return id, nil
	}
}
