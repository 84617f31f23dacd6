package store

import (
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
)

// Between the moment when an object gets its name and the moment when a ref leads to it, the
// object is garbage for git: `git gc --prune=now` may remove it. So the new value of a ref is
// looked up under the ref's lock. The objects of an edit are looked up once more after the ref
// moved. A prune that began earlier and removes them even later causes a loss: see BrokenRefs.

// vanishedError means that the new object of a ref is not in the repository.
type vanishedError struct {
	ref string
	id  OID
}

func (e *vanishedError) Error() string {
	return "ref " + e.ref + ": object " + e.id.String() + ", which it is to name, is not in the repository"
}

// checkValue refuses a new value that does not exist, and for a branch one that is no commit.
// The caller holds the ref's lock.
func checkValue(d *diskObjects, u Update) error {
	if u.New.IsZero() || u.New == u.Old {
		return nil
	}
	t, err := d.typeNow(u.New)
	switch {
	case isMissing(err):
		return fault.New(fault.Integrity, "%w", &vanishedError{u.Name, u.New}).
			Advise("run it again; git gc --prune=now must not run together with rye")
	case err != nil:
		return fault.Wrap(err, "ref %s", u.Name)
	case t != TypeCommit && strings.HasPrefix(u.Name, "refs/heads/"):
		return fault.New(fault.Integrity, "ref %s: a branch names a commit, and %s is a %s", u.Name, u.New, t)
	}
	return nil
}

// typeNow returns the type of an object that is on disk now. It lists the packs again, because
// an open pack can still be read after its removal.
func (d *diskObjects) typeNow(id OID) (t Type, err error) {
	loose := func() error {
		f, err := d.files.open(d.loose(id))
		if err != nil {
			return err
		}
		defer f.Close()
		t, _, _, err = readLoose(f, 0, true)
		return err
	}
	if err := loose(); err == nil {
		return t, nil
	}
	if _, _, err := d.rescan(); err != nil {
		return 0, err
	}
	err = d.patiently(id, loose, func(p *pack, i int64) (err error) {
		t, _, err = p.stat(i)
		return err
	})
	if err != nil {
		return 0, wrapRead(id, err)
	}
	return t, nil
}

// writeLost writes those objects again that are no longer on disk. The caller holds the write
// lock.
func (r *Repo) writeLost(objs []object) error {
	lost := slices.DeleteFunc(slices.Clone(objs), func(o object) bool {
		if r.disk.hasLoose(o.id) {
			return true
		}
		_, err := r.disk.typeNow(o.id)
		return err == nil
	})
	if len(lost) == 0 {
		return nil
	}
	return r.disk.putLoose(tempName, lost)
}
