package head

import (
	"errors"
	"io/fs"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/store"
)

// FileAt returns the bytes, at most limit, of the file that a commit has at a slash path below dir; false where
// it has nothing there. name is a full id of a commit, a full name of a ref, or the short name of one branch,
// remote branch or tag. A short name that fits several is refused, since one of them may come from a stranger.
// dir, home and now are as for Open.
func FileAt(dir, home, name, p string, limit int64, now time.Time) (raw []byte, ok bool, err error) {
	r, err := locate(dir, home)
	if err != nil {
		return nil, false, err
	}
	if err := r.findObjects(); err != nil {
		return nil, false, err
	}
	id, err := r.named(name)
	if err != nil {
		return nil, false, err
	}
	from, err := store.OpenObjects(r.format, r.objects...)
	if err != nil {
		return nil, false, unknown("%v", err)
	}
	t := &Tree{repo: r, objects: from, format: r.format, prefix: r.prefix, until: now.Add(patience)}
	defer t.Close()
	if id, err = t.peeled(id); err != nil {
		return nil, false, err
	}
	if t.root, err = t.treeOf(id); err != nil {
		return nil, false, err
	}
	e, ok, err := t.entry(p, now)
	if err != nil || !ok {
		return nil, false, err
	}
	if e.Mode&0o170000 != 0o100000 {
		return nil, false, unknown("%q is no file in %s", words.Brief(p), words.Brief(name))
	}
	typ, raw, err := from.Object(e.ID, limit)
	if err != nil || typ != store.TypeBlob {
		return nil, false, unknown("%q of %s cannot be read: %v", words.Brief(p), words.Brief(name), err)
	}
	return raw, true, nil
}

// named returns the object that a name means.
func (r *repo) named(name string) (store.OID, error) {
	if id, err := store.ParseOID(name); err == nil {
		return id, r.take("the given id", id)
	}
	if strings.HasPrefix(name, "refs/") {
		id, ok, err := r.ref(name)
		if err == nil && !ok {
			err = fault.New(fault.NotFound, "no ref %s in this git repository", words.Brief(name)).Advise("git fetch brings the refs of a remote")
		}
		return id, err
	}
	var found store.OID
	var as string
	for _, prefix := range []string{"refs/heads/", "refs/remotes/", "refs/tags/"} {
		if !safeRef(prefix + name) {
			return found, fault.New(fault.Usage, "%q is no name of a branch or a tag", words.Brief(name))
		}
		id, ok, err := r.ref(prefix + name)
		switch {
		case err != nil:
			return found, err
		case !ok:
		case as != "":
			return found, fault.New(fault.Usage, "%s means %s and %s", words.Brief(name), as, prefix+name).Advise("give the full name")
		default:
			found, as = id, prefix+name
		}
	}
	if as == "" {
		return found, fault.New(fault.NotFound, "no branch or tag %s in this git repository", words.Brief(name)).Advise("git fetch brings the branches of a remote")
	}
	return found, nil
}

// ref follows one ref to an object.
func (r *repo) ref(name string) (id store.OID, ok bool, err error) {
	for range maxSymbolic {
		if !safeRef(name) {
			return id, false, fault.New(fault.Usage, "%q is no name of a ref", words.Brief(name))
		}
		text, err := r.refFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			id, err := r.packed(name)
			if errors.Is(err, errUnborn) {
				return id, false, nil
			}
			return id, err == nil, err
		}
		if err != nil {
			return id, false, err
		}
		next, id, good := parseRef(text)
		switch {
		case !good:
			return id, false, unknown("%s is %q", words.Brief(name), words.Brief(text))
		case next == "":
			return id, true, r.take(name, id)
		}
		name = next
	}
	return id, false, unknown("%s names a ref that names a ref, more than %d times", words.Brief(name), maxSymbolic)
}

// peeled follows annotated tags to a commit.
func (t *Tree) peeled(id store.OID) (store.OID, error) {
	for range maxSymbolic {
		typ, raw, err := t.objects.Object(id, maxCommit)
		if err != nil {
			return id, unknown("%s cannot be read: %v", id, err)
		}
		if typ != store.TypeTag {
			return id, nil
		}
		line, _, _ := strings.Cut(string(raw), "\n")
		text, ok := strings.CutPrefix(line, "object ")
		if id, err = store.ParseOID(text); !ok || err != nil {
			return id, unknown("a tag that names no object")
		}
	}
	return id, unknown("a tag of tags, more than %d deep", maxSymbolic)
}
