package memory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/revoked"
	"github.com/rye-os/rye/registry/oplog"
)

// Saved is the memory of one registry as texts: the verified points, and by namespace the
// revoked versions and the revocations that no host has served yet.
type Saved struct {
	ID      objects.Digest
	Seen    string
	Revoked map[string]string
	Unread  map[string]string
}

const seenSuffix = ".seen"

// Save reads the memories of all registries in a state directory. A damaged one is an error:
// a backup without it would lose a floor.
func Save(stateDir string) (all []Saved, err error) {
	entries, err := os.ReadDir(stateDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.Failed, "list the registries seen: %w", err)
	}
	for _, e := range entries {
		hex, ok := strings.CutSuffix(e.Name(), seenSuffix)
		id, err := objects.ParseDigest("sha256:" + hex)
		if !ok || err != nil {
			continue
		}
		if _, err := readMemory(stateDir, id); err != nil {
			return nil, err
		}
		raw, err := place.Read(memoryPath(stateDir, id), maxMemory)
		if err != nil {
			return nil, fault.New(fault.Failed, "read the verified logs of the registry: %w", err)
		}
		s := Saved{ID: id, Seen: string(raw)}
		r := &Memory{o: Options{ID: id, StateDir: stateDir}}
		if s.Revoked, err = texts(filepath.Dir(r.revokedPath("-"))); err != nil {
			return nil, err
		}
		if s.Unread, err = texts(filepath.Dir(r.unreadPath("-"))); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// maxSaved bounds one file of a namespace in a backup, in bytes.
const maxSaved = 32 << 20

// texts reads the files of a directory that are named like namespaces.
func texts(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	all := map[string]string{}
	for _, e := range entries {
		if oplog.CheckNamespace(e.Name()) != nil {
			continue // left behind by a killed process
		}
		raw, err := place.Read(filepath.Join(dir, e.Name()), maxSaved)
		if err != nil {
			return nil, fault.New(fault.Failed, "read the memory of the registry: %w", err)
		}
		all[e.Name()] = string(raw)
	}
	return all, err
}

// Return is a checked Saved, ready to be merged into a state directory.
type Return struct {
	r       *Memory
	points  Points
	now     Points
	revoked map[string][]revoked.Version
	unread  map[string][]Revocation
}

// Check parses a saved memory, and compares it with the one in the state directory. It writes
// nothing.
func (s Saved) Check(stateDir string) (*Return, error) {
	r := &Return{revoked: map[string][]revoked.Version{}, unread: map[string][]Revocation{}}
	if len(s.Seen) > maxMemory {
		return nil, fault.New(fault.Limit, "registry %s: more than %d bytes of verified points", s.ID, maxMemory)
	}
	var err error
	if r.points, err = parseMemory([]byte(s.Seen), s.ID); err != nil {
		return nil, fault.Wrap(err, "registry %s", s.ID)
	}
	r.r = Open(Options{ID: s.ID, URL: strings.TrimPrefix(strings.Split(s.Seen, "\n")[2], "url "), StateDir: stateDir})
	for ns := range r.points {
		if ns != "" && oplog.CheckNamespace(ns) != nil {
			return nil, fault.New(fault.Malformed, "registry %s: namespace %q", s.ID, words.Brief(ns))
		}
	}
	if r.now, err = readMemory(stateDir, s.ID); err != nil {
		return nil, err
	}
	for ns, text := range s.Revoked {
		if err := eachLine(ns, text, func(line string) error {
			v, err := revoked.ParseLine(strings.TrimSuffix(line, "\n"))
			r.revoked[ns] = append(r.revoked[ns], v)
			return err
		}); err != nil {
			return nil, fault.Wrap(err, "registry %s", s.ID)
		}
		had, err := r.r.Revoked(ns)
		if err != nil {
			return nil, err
		}
		r.revoked[ns] = slices.DeleteFunc(r.revoked[ns], func(v revoked.Version) bool { return slices.Contains(had, v) })
	}
	for ns, text := range s.Unread {
		if err := eachLine(ns, text, func(line string) error {
			v, err := parseRevocation(line)
			r.unread[ns] = append(r.unread[ns], v)
			return err
		}); err != nil {
			return nil, fault.Wrap(err, "registry %s", s.ID)
		}
		had, err := r.r.Missing(ns)
		if err != nil {
			return nil, err
		}
		r.unread[ns] = slices.DeleteFunc(r.unread[ns], func(v Revocation) bool { return slices.Contains(had, v) })
	}
	return r, nil
}

func eachLine(namespace, text string, do func(string) error) error {
	if err := oplog.CheckNamespace(namespace); err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, "\n") {
			return fault.New(fault.Malformed, "namespace %s: the last line does not end", namespace)
		}
		if err := do(line); err != nil {
			return err
		}
	}
	return nil
}

// Later reports whether the saved memory saw a later state of a namespace.
func (r *Return) Later(namespace string) bool { return r.points[namespace].Seq > r.now[namespace].Seq }

// Changes describes what Apply does, one line each.
func (r *Return) Changes() (all []string) {
	for _, ns := range slices.Sorted(maps.Keys(r.revoked)) {
		if n := len(r.revoked[ns]); n > 0 {
			all = append(all, fmt.Sprintf("%s/: %s refused", ns, words.Plural(n, "revoked version")))
		}
	}
	for _, ns := range slices.Sorted(maps.Keys(r.unread)) {
		if n := len(r.unread[ns]); n > 0 {
			all = append(all, fmt.Sprintf("%s/: %s to ask for", ns, words.Plural(n, "missing revocation")))
		}
	}
	for _, ns := range slices.Sorted(maps.Keys(r.points)) {
		if r.Later(ns) {
			all = append(all, fmt.Sprintf("%s: at least operation %d", oplog.LogName(ns), r.points[ns].Seq))
		}
	}
	return all
}

// Apply merges the saved memory: versions stay revoked, and each log keeps the higher point.
// Two different histories up to one position are fault.Fork, and the point here stays.
func (r *Return) Apply(ctx context.Context) error {
	var errs []error
	if err := os.MkdirAll(r.r.o.StateDir, 0o700); err != nil {
		return fault.New(fault.Failed, "remember the registry: %w", err)
	}
	for ns, news := range r.revoked {
		errs = append(errs, r.r.RememberRevoked(ctx, ns, news))
	}
	for ns, missing := range r.unread {
		if len(missing) > 0 {
			errs = append(errs, r.r.KeepUnread(ctx, ns, nil, missing))
		}
	}
	for _, ns := range slices.Sorted(maps.Keys(r.points)) { // the root, "", is first
		errs = append(errs, r.r.Remember(ctx, ns, r.points[ns]))
	}
	return errors.Join(errs...)
}
