package oplog

import (
	"fmt"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// A version of a bundle is a commit like any other version. Its tree holds the manifest and every
// file that it lists, at their paths below .ai and with the listed modes. The catalogue has the
// manifest's digest, and the manifest has the digests of the files, so SHA-256 binds every byte.
// Readers recompute the commit's id, which rules out additional files.

// MaxPackageObjects bounds the objects of one bundle, and its directories.
const MaxPackageObjects = 4 * objects.MaxPackageFiles

// Manifest parses the manifest of a bundle's version and compares it with the catalogue line.
func (e *Entry) Manifest(raw []byte) (*objects.Manifest, error) {
	m, err := objects.ParseManifest(raw)
	if err != nil {
		return nil, err
	}
	if m.Ref() != e.Ref || m.Version != e.Version {
		return nil, fault.New(fault.Integrity, "%s: its manifest belongs to %s@%s", e.Name(), m.ID, m.Version)
	}
	return m, m.CheckPackage()
}

// PutPackage puts the manifest of a bundle and every file that it lists, and returns the id of the
// top tree.
func PutPackage(put Sink, e *Entry, raw []byte, read func(objects.File) ([]byte, error)) (store.OID, error) {
	m, err := e.Manifest(raw)
	if err != nil {
		return store.OID{}, err
	}
	dir, files := e.Ref.PackageDir()+"/", make(map[string]store.Entry, 1+len(m.Files))
	id, err := put(store.TypeBlob, raw)
	files[e.Path] = store.Entry{Mode: store.ModeFile, ID: id}
	for _, f := range m.Files {
		if err != nil {
			return id, err
		}
		var data []byte
		if data, err = read(f); err != nil {
			return id, err
		}
		if !f.Matches(data) {
			return id, fault.New(fault.Integrity, "%s: %s is not the file that the manifest lists", e.Name(), f.Path)
		}
		id, err = put(store.TypeBlob, data)
		files[dir+f.Path] = store.Entry{Mode: ModeOf(f), ID: id}
	}
	if err != nil {
		return id, err
	}
	return PutFiles(put, files)
}

func ModeOf(f objects.File) store.Mode {
	if f.Executable {
		return store.ModeExec
	}
	return store.ModeFile
}

// packageFiles collects the files of a bundle's tree. It accepts only the listed files, with the
// listed modes.
type packageFiles struct {
	rd    Reader
	e     *Entry
	m     *objects.Manifest
	blobs map[string]store.OID // by path below the bundle's directory
	trees int
}

// filesBelow returns the blob of every file that m lists.
func filesBelow(rd Reader, tree store.OID, e *Entry, m *objects.Manifest) (map[string]store.OID, error) {
	p := &packageFiles{rd: rd, e: e, m: m, blobs: make(map[string]store.OID, len(m.Files))}
	id := tree
	for name := range strings.SplitSeq(e.Ref.PackageDir(), "/") {
		entries, err := rd.Tree(id)
		if err != nil {
			return nil, err
		}
		if len(entries) != 1 || entries[0].Name != name || entries[0].Mode != store.ModeDir {
			return nil, fault.New(fault.Malformed, "tree %s: holds something other than %q", id, e.Ref.PackageDir())
		}
		id = entries[0].ID
	}
	if err := p.walk(id, ""); err != nil {
		return nil, err
	}
	for _, f := range m.Files {
		if p.blobs[f.Path].IsZero() {
			return nil, fault.New(fault.Malformed, "its tree lacks %s, which its manifest lists", f.Path)
		}
	}
	return p.blobs, nil
}

func (p *packageFiles) walk(tree store.OID, prefix string) error {
	if p.trees++; p.trees > MaxPackageObjects {
		return fault.New(fault.Limit, "its tree has more than %d directories", MaxPackageObjects)
	}
	entries, err := p.rd.Tree(tree)
	if err != nil {
		return err
	}
	for _, en := range entries {
		path := prefix + en.Name
		if en.Mode == store.ModeDir {
			if err := objects.CheckMember(path); err != nil { // no listed file can have such a path
				return err
			}
			if err := p.walk(en.ID, path+"/"); err != nil {
				return err
			}
			continue
		}
		if path == objects.ManifestName && en.Mode == store.ModeFile {
			continue
		}
		switch f, listed := p.m.File(path); {
		case !listed:
			return fault.New(fault.Malformed, "its tree holds %q, which its manifest does not list", words.Brief(path))
		case en.Mode != ModeOf(f):
			return fault.New(fault.Malformed, "its tree holds %q with mode %o, its manifest says %o", words.Brief(path), en.Mode, ModeOf(f))
		}
		p.blobs[path] = en.ID
	}
	return nil
}

// copyPackage checks and puts the content of a bundle's version below tree. It returns the
// manifest and the id of the top tree.
func copyPackage(rd Reader, tree store.OID, e *Entry, put Sink) (raw []byte, made store.OID, err error) {
	at, err := rd.Lookup(tree, e.Path)
	if err != nil {
		return nil, made, err
	}
	if raw, err = rd.Blob(at.ID, MaxItemSize); err != nil {
		return nil, made, err
	}
	if err := e.Proves(raw); err != nil {
		return nil, made, err
	}
	m, err := e.Manifest(raw)
	if err != nil {
		return nil, made, err
	}
	blobs, err := filesBelow(rd, tree, e, m)
	if err != nil {
		return nil, made, err
	}
	made, err = PutPackage(put, e, raw, func(f objects.File) ([]byte, error) {
		data, err := rd.Blob(blobs[f.Path], f.Size)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		return data, nil
	})
	return raw, made, err
}
