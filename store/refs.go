package store

import (
	"io/fs"
	"sort"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Ref is a ref and its target.
type Ref struct {
	Name string
	ID   OID
}

const (
	maxRefFile  = 4096 // bytes
	maxSymlinks = 5    // symbolic refs in a chain, as in git
)

// Ref returns the target of name. A missing ref is fault.NotFound (ErrNotExist). A ref file
// with invalid content is fault.Integrity, never "missing".
func (r *Repo) Ref(name string) (OID, error) {
	for range maxSymlinks {
		if err := CheckRefName(name); err != nil {
			return OID{}, err
		}
		id, target, err := r.rawRef(name)
		if err != nil {
			return OID{}, err
		}
		if target == "" {
			if id.IsZero() {
				return OID{}, notFound("ref %s", name)
			}
			return id, nil
		}
		name = target
	}
	return OID{}, fault.New(fault.Integrity, "ref %s: symbolic refs more than %d deep", name, maxSymlinks)
}

// rawRef reads a ref: its id, or the target of a symbolic ref, or neither if it does not
// exist. It reads the loose file first, then packed-refs. git pack-refs writes packed-refs
// before it removes the loose file, so rawRef never misses a ref.
func (r *Repo) rawRef(name string) (id OID, target string, err error) {
	id, target, err = r.looseRef(name)
	if err != nil || !id.IsZero() || target != "" {
		return id, target, err
	}
	id, err = r.packedRefID(name)
	return id, "", err
}

// looseRef reads the file of a ref. It returns neither id nor target if there is none.
func (r *Repo) looseRef(name string) (OID, string, error) {
	b, err := r.files.read(name, maxRefFile)
	if err != nil && r.files.isDir(name) {
		return OID{}, "", nil
	}
	if isMissing(err) || err != nil && isNotDir(err) {
		return OID{}, "", nil
	}
	if err != nil {
		return OID{}, "", fault.New(fault.Integrity, "read ref %s: %w", name, err)
	}
	id, target, err := parseRef(string(b), r.format)
	if err != nil {
		return OID{}, "", fault.New(fault.Integrity, "read ref %s: %w", name, err).
			Advise("git -C %s update-ref %s <the right commit>", r.dir, name)
	}
	return id, target, nil
}

// parseRef reads the text of a loose ref.
func parseRef(text string, f Format) (OID, string, error) {
	line := strings.TrimRight(text, " \t\r\n")
	if target, ok := strings.CutPrefix(line, "ref:"); ok {
		return OID{}, strings.TrimLeft(target, " \t"), nil
	}
	id, ok := parseHex(line)
	if !ok || int(id.n) != f.size() {
		return OID{}, "", fault.New(fault.Integrity, "its file holds %q", words.Brief(line))
	}
	return id, "", nil
}

// Refs lists the refs whose names begin with prefix ("refs/" for all), sorted. It omits names
// that CheckRefName refuses. It follows symbolic refs, and omits those without a target.
func (r *Repo) Refs(prefix string) ([]Ref, error) {
	if !strings.HasPrefix(prefix, "refs/") {
		return nil, fault.New(fault.Usage, "refs below %q: want a prefix that begins with refs/", words.Brief(prefix))
	}
	found := map[string]OID{}
	if err := r.looseRefs(prefix, found); err != nil {
		return nil, err
	}
	_, packed, err := r.readPackedRefs()
	if err != nil {
		return nil, err
	}
	for _, p := range packed {
		if _, ok := found[p.name]; !ok && strings.HasPrefix(p.name, prefix) && CheckRefName(p.name) == nil {
			found[p.name] = p.id
		}
	}
	refs := make([]Ref, 0, len(found))
	for name, id := range found {
		if !id.IsZero() {
			refs = append(refs, Ref{name, id})
		}
	}
	sort.Slice(refs, func(i, j int) bool { return refs[i].Name < refs[j].Name })
	return refs, nil
}

// looseRefs walks the directory of prefix.
func (r *Repo) looseRefs(prefix string, found map[string]OID) error {
	top := prefix[:strings.LastIndexByte(prefix, '/')]
	if top != "refs" && CheckRefName(top) != nil {
		return nil // no ref can be there, and the path could lead out of the repository
	}
	err := r.files.walk(top, func(name string, d fs.DirEntry) error {
		if !strings.HasPrefix(name, prefix) || CheckRefName(name) != nil {
			return nil
		}
		id, target, err := r.looseRef(name)
		if err != nil {
			return err
		}
		if target != "" {
			if id, err = r.Ref(target); err != nil {
				id = OID{} // leads nowhere
			}
		}
		if target != "" || !id.IsZero() {
			found[name] = id
		}
		return nil
	})
	if err != nil {
		return fault.Wrap(err, "list refs")
	}
	return nil
}
