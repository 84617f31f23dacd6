package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// Point is a place in a log that was verified: a floor under what a registry may
// show afterwards. Locks hold points too.
type Point struct {
	Genesis objects.Digest // raw claim; zero for the root, whose genesis is the registry's identity
	Seq     uint64
	Tip     store.OID
	Sum     objects.Digest // of the raw commit at Seq
	Owners  uint64         // of the state at Seq
}

// memory is what this machine has verified of one registry: a small file in the
// state directory, durable, and never a cache. Without it an attacker could show
// an older registry, or another, and nobody would notice. It is by namespace, "" being
// the root.
type memory map[string]Point

type yamlMemory struct {
	Format     uint64               `yaml:"format"`
	ID         string               `yaml:"id"`
	URL        string               `yaml:"url"` // where it was last met; advisory
	Root       yamlPoint            `yaml:"root"`
	Namespaces map[string]yamlPoint `yaml:"namespaces"`
}

type yamlPoint struct {
	Genesis string `yaml:"genesis,omitempty"`
	Seq     uint64 `yaml:"seq"`
	Tip     string `yaml:"tip"`
	SHA256  string `yaml:"sha256"`
	Owners  uint64 `yaml:"owners,omitempty"`
}

func (p Point) yaml() yamlPoint {
	y := yamlPoint{Seq: p.Seq, Tip: p.Tip.String(), SHA256: p.Sum.String(), Owners: p.Owners}
	if !p.Genesis.IsZero() {
		y.Genesis = p.Genesis.String()
	}
	return y
}

func (y yamlPoint) point() (p Point, err error) {
	p.Seq, p.Owners = y.Seq, y.Owners
	if p.Genesis, err = optionalDigest(y.Genesis); err != nil {
		return p, err
	}
	if p.Tip, err = store.ParseOID(y.Tip); err != nil {
		return p, err
	}
	if p.Sum, err = objects.ParseDigest(y.SHA256); err == nil && p.Seq == 0 {
		err = fault.New(fault.Malformed, "position 0")
	}
	return p, err
}

// memoryPath returns <dir>/<64 hex of the identity>.yaml.
func memoryPath(dir string, id objects.Digest) string { return filepath.Join(dir, id.Hex()+".yaml") }

// readMemory returns what was verified of a registry; nothing yet is no error.
// A file that cannot be read is one: forgetting would open the way back.
func readMemory(dir string, id objects.Digest) (memory, error) {
	m := memory{}
	path := memoryPath(dir, id)
	raw, err := place.Read(path, 16<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, fault.New(fault.Failed, "read what was verified of the registry: %w", err)
	}
	var y yamlMemory
	err = objects.DecodeYAML(raw, 16<<20, &y)
	if err == nil && (y.Format != FormatVersion || y.ID != id.String()) {
		err = fault.New(fault.Malformed, "it is of format %d, about %q", y.Format, words.Brief(y.ID))
	}
	for ns, p := range y.Namespaces {
		if err == nil {
			m[ns], err = p.point()
		}
	}
	if err == nil {
		m[""], err = y.Root.point()
	}
	if err != nil {
		return m, fault.New(fault.Integrity, "read what was verified of the registry, %s: %w", path, err).
			Advise("look at the file; removing it makes rye trust the registry anew, as on first contact")
	}
	return m, nil
}

// recall is readMemory that reads the file only where it changed since: it is written whole,
// under a new name, so another file is another inode or time. What it returns is the caller's.
func recall(r *Registry) (memory, error) {
	now, err := os.Stat(memoryPath(r.o.StateDir, r.o.ID))
	if err != nil {
		now = nil
	}
	if was := r.recalled; now != nil && was.file != nil && os.SameFile(now, was.file) && now.ModTime().Equal(was.file.ModTime()) && now.Size() == was.file.Size() {
		return maps.Clone(was.m), nil
	}
	m, err := readMemory(r.o.StateDir, r.o.ID)
	if err == nil {
		r.recalled = recalled{maps.Clone(m), now}
	}
	return m, err
}

// recalled is a memory as it was read, with what its file was just before.
type recalled struct {
	m    memory
	file fs.FileInfo // nil: there was none
}

func (m memory) write(dir, url string, id objects.Digest) error {
	y := yamlMemory{Format: FormatVersion, ID: id.String(), URL: url, Root: m[""].yaml(), Namespaces: map[string]yamlPoint{}}
	for ns, p := range m {
		if ns != "" {
			y.Namespaces[ns] = p.yaml()
		}
	}
	raw, err := objects.EncodeYAML(y)
	if err != nil {
		return err
	}
	return place.File(memoryPath(dir, id), raw, 0o600)
}

// remember moves the memory forward, never back, whatever other processes do
// meanwhile. namespace "" is the root.
func (r *Registry) remember(ctx context.Context, namespace string, p Point) error {
	if err := os.MkdirAll(r.o.StateDir, 0o700); err != nil {
		return fault.New(fault.Failed, "remember what was verified: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute,
		fault.New(fault.Conflict, "remember what was verified: another process has held the lock for a minute"))
	defer cancel()
	unlock, err := place.Lock(ctx, memoryPath(r.o.StateDir, r.o.ID)+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	m, err := readMemory(r.o.StateDir, r.o.ID)
	if err != nil {
		return err
	}
	old := m[namespace]
	if old.Seq > p.Seq || old == p {
		return nil // somebody got further meanwhile; the logs are compared at the next sync
	}
	if old.Seq == p.Seq && old.Sum != p.Sum {
		return fault.New(fault.Fork, "%s: another process verified another history up to the same position", logName(namespace))
	}
	if err := noteSighting(r, namespace, old.Seq, p.Seq); err != nil {
		return err
	}
	m[namespace] = p
	r.recalled = recalled{}
	return m.write(r.o.StateDir, r.o.URL, r.o.ID)
}

// logName names a log for people.
func logName(namespace string) string {
	if namespace == "" {
		return "root of the registry"
	}
	return "namespace " + namespace
}

// keepEvidence stores both of two signed commits that contradict each other, as
// raw commits. Their signatures speak for themselves, to anybody.
func (r *Registry) keepEvidence(namespace string, seq uint64, raws ...[]byte) (string, error) {
	name := cmp.Or(namespace, "main")
	dir := filepath.Join(r.o.StateDir, r.o.ID.Hex()+".evidence")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fault.New(fault.Failed, "keep evidence: %w", err)
	}
	for _, raw := range raws {
		path := filepath.Join(dir, fmt.Sprintf("%s-%d-%s.commit", name, seq, objects.DigestOf(raw).Hex()))
		if _, err := os.Stat(path); err == nil {
			continue
		}
		if err := place.File(path, raw, 0o600); err != nil {
			return "", err
		}
	}
	return dir, nil
}
