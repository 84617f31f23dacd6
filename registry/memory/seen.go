package memory

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// Points holds what this machine has verified of one registry, by namespace; "" is the root. It is
// a small, durable file in the state directory, never a cache. Without it, an attacker could show
// an older or another registry unnoticed.
type Points map[string]oplog.Point

// memoryPath returns <dir>/<64 hex of the identity>.seen.
func memoryPath(dir string, id objects.Digest) string { return filepath.Join(dir, id.Hex()+".seen") }

// maxMemory bounds the file, in bytes, for writing and reading: about 60,000 namespaces.
const maxMemory = 16 << 20

// readMemory returns the verified points of a registry. No file yet is no error. An unreadable file
// is one: forgetting its points would permit a rollback.
func readMemory(dir string, id objects.Digest) (Points, error) {
	path := memoryPath(dir, id)
	raw, err := place.Read(path, maxMemory)
	if errors.Is(err, fs.ErrNotExist) {
		return Points{}, nil
	}
	if err != nil {
		return nil, fault.New(fault.Failed, "read the verified logs of the registry: %w", err)
	}
	m, err := parseMemory(raw, id)
	if err != nil {
		return nil, fault.New(fault.Integrity, "read the verified logs of the registry, %s: %w", path, err).
			Advise("look at the file; without it, rye trusts the registry as on first contact")
	}
	return m, nil
}

// rootLine replaces the empty name of the root, and noDigest a missing digest.
const rootLine, noDigest = ".", "-"

// text returns a memory as stored: three header lines, and one line for each log. It is not YAML,
// because every command that contacts a registry reads it, and YAML takes 0.2 ms longer. A line
// feed in url, which may be a directory's name, would begin another line.
func (m Points) text(url string, id objects.Digest) []byte {
	b := fmt.Appendf(nil, "rye %d\nid %s\nurl %s\n", oplog.FormatVersion, id, strings.ReplaceAll(url, "\n", " "))
	for _, ns := range slices.Sorted(maps.Keys(m)) { // the root, "", is first
		p, genesis := m[ns], noDigest
		if !p.Genesis.IsZero() {
			genesis = p.Genesis.String()
		}
		b = fmt.Appendf(b, "%s %d %s %s %d %s", cmp.Or(ns, rootLine), p.Seq, p.Tip, p.Sum, p.Owners, genesis)
		if p.Last.Seq > 0 {
			b = fmt.Appendf(b, " %d %s %s", p.Last.Seq, p.Last.ID, p.Last.Sum)
		}
		b = append(b, '\n')
	}
	return b
}

// parseMemory reads the output of text, and nothing else.
func parseMemory(raw []byte, id objects.Digest) (Points, error) {
	head, lines, url := strings.Split(string(raw), "\n"), []string(nil), ""
	if len(head) > 3 {
		lines, url = head[3:], strings.TrimPrefix(head[2], "url ")
	}
	m := Points{}
	for i, line := range lines {
		if line == "" {
			continue
		}
		ns, p, err := parsePoint(line)
		if err != nil {
			return nil, fault.New(fault.Malformed, "line %d: %w", 4+i, err)
		}
		m[strings.TrimPrefix(ns, rootLine)] = p
	}
	if _, ok := m[""]; !ok || !bytes.Equal(m.text(url, id), raw) {
		return nil, fault.New(fault.Malformed, "it is not in canonical form for registry %s", id)
	}
	return m, nil
}

func parsePoint(line string) (ns string, p oplog.Point, err error) {
	f := strings.Split(line, " ")
	if len(f) != 6 && (len(f) != 9 || f[0] == rootLine) {
		return "", p, fault.New(fault.Malformed, "%d words in a line, want 6, or for a namespace 9", len(f))
	}
	var errs [8]error
	p.Seq, errs[0] = strconv.ParseUint(f[1], 10, 64)
	p.Tip, errs[1] = store.ParseOID(f[2])
	p.Sum, errs[2] = objects.ParseDigest(f[3])
	p.Owners, errs[3] = strconv.ParseUint(f[4], 10, 64)
	if f[5] != noDigest {
		p.Genesis, errs[4] = objects.ParseDigest(f[5])
	}
	skips := len(f) == 9
	if skips {
		p.Last.Seq, errs[5] = strconv.ParseUint(f[6], 10, 64)
		p.Last.ID, errs[6] = store.ParseOID(f[7])
		p.Last.Sum, errs[7] = objects.ParseDigest(f[8])
	}
	if err = errors.Join(errs[:]...); err == nil && (p.Seq == 0 || p.Last.Seq >= p.Seq || skips && p.Last.Seq == 0) {
		err = fault.New(fault.Malformed, "position %d, the last that has effect %d", p.Seq, p.Last.Seq)
	}
	return f[0], p, err
}

// Recall returns the verified points. It reads the file only if it changed. Each write makes a new
// file, so a changed file has another inode or time. The caller owns the map.
func (r *Memory) Recall() (Points, error) {
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

// recalled is the result of a read, and the file's info just before it.
type recalled struct {
	m    Points
	file fs.FileInfo // nil: there was none
}

// draft returns the file of a memory, ready to be written.
func (m Points) draft(dir, url string, id objects.Digest) place.Draft {
	return place.Draft{Path: memoryPath(dir, id), Data: m.text(url, id), Mode: 0o600}
}

// Prepare writes what Remember is likely to write, without moving the memory: a caller that waits
// for the answer of a host has time for the disk. The caller passes the result to RememberPrepared,
// or discards it. What cannot be written is left to RememberPrepared.
func (r *Memory) Prepare(namespace string, p oplog.Point) place.Ready {
	m, err := readMemory(r.o.StateDir, r.o.ID)
	if err != nil {
		return place.Ready{}
	}
	drafts, err := r.drafts(m, namespace, p)
	if err != nil {
		return place.Ready{}
	}
	return place.Prepare(drafts...)
}

// Remember moves the memory forward, never back, even if other processes change it meanwhile.
// namespace "" is the root.
func (r *Memory) Remember(ctx context.Context, namespace string, p oplog.Point) error {
	return r.RememberPrepared(ctx, namespace, p, place.Ready{})
}

// RememberPrepared is Remember after Prepare. It uses what was prepared if nothing changed since.
func (r *Memory) RememberPrepared(ctx context.Context, namespace string, p oplog.Point, ready place.Ready) error {
	defer ready.Discard()
	if err := os.MkdirAll(r.o.StateDir, 0o700); err != nil {
		return fault.New(fault.Failed, "remember the verified log: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute,
		fault.New(fault.Conflict, "remember the verified log: another process has held the lock for a minute"))
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
		return nil // another process got further meanwhile; the next sync compares the logs
	}
	if old.Seq == p.Seq && old.Sum != p.Sum {
		return fault.New(fault.Fork, "%s: another process verified another history up to the same position", oplog.LogName(namespace))
	}
	drafts, err := r.drafts(m, namespace, p)
	if err != nil {
		return err
	}
	r.recalled = recalled{}
	return ready.Files(drafts...)
}

// drafts returns the files of a memory that moves a log to p. It changes m.
func (r *Memory) drafts(m Points, namespace string, p oplog.Point) (drafts []place.Draft, err error) {
	if namespace != "" {
		note, err := r.noteSighting(namespace, m[namespace].Seq, p.Seq)
		if err != nil {
			return nil, err
		}
		drafts = append(drafts, note)
	}
	m[namespace] = p
	draft := m.draft(r.o.StateDir, r.o.URL, r.o.ID)
	if len(draft.Data) > maxMemory {
		return nil, fault.New(fault.Limit, "remember the verified log of %s: %d namespaces of one registry are too many", oplog.LogName(namespace), len(m)-1)
	}
	return append(drafts, draft), nil
}

const evidenceSuffix = ".evidence"

// Kept names the directory with two contradicting histories of a registry.
type Kept struct {
	ID  objects.Digest // the registry's identity
	Dir string
}

// Evidence lists the evidence in a state directory. It stays until a person removes it.
func Evidence(stateDir string) (all []Kept, err error) {
	if stateDir == "" {
		return nil, nil
	}
	list, err := os.ReadDir(stateDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range list {
		hex, is := strings.CutSuffix(e.Name(), evidenceSuffix)
		if id, err := objects.ParseDigest("sha256:" + hex); is && err == nil {
			all = append(all, Kept{id, filepath.Join(stateDir, e.Name())})
		}
	}
	if err != nil {
		err = fault.New(fault.Failed, "list the registries' recorded logs: %w", err).Mend("chmod -R u+rwX %s", stateDir)
	}
	return all, err
}

// KeepEvidence stores two contradicting signed commits as raw commits. Anyone can verify their
// signatures.
func (r *Memory) KeepEvidence(namespace string, seq uint64, raws ...[]byte) (string, error) {
	name := cmp.Or(namespace, "main")
	dir := filepath.Join(r.o.StateDir, r.o.ID.Hex()+evidenceSuffix)
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
