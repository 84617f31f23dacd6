package oplog

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/strict"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// Status is a registry's status of a published version.
type Status string

// The statuses. Only Redacted can follow Revoked, and nothing can follow Redacted.
const (
	StatusOK         Status = "ok"
	StatusDeprecated Status = "deprecated" // works, with a warning
	StatusYanked     Status = "yanked"     // not selected for new locks; existing locks keep working
	StatusRevoked    Status = "revoked"    // refused even when locked
	StatusRedacted   Status = "redacted"   // as revoked, and its bytes are removed
)

// Gone reports whether a version is refused for good everywhere.
func (s Status) Gone() bool { return s == StatusRevoked || s == StatusRedacted }

// Bounds of one published version.
const (
	MaxItemSize = 16 << 20 // bytes of an item's file
	maxDeps     = 64
	maxPath     = 400
)

// Meta holds what a publisher states about an item beside its bytes. With it, rye resolves
// dependencies and shows changes of rights without fetching the item. The item itself stays the
// authority.
type Meta struct {
	Description string            // one line of plain text, at most MaxDescription bytes; "" when none
	Deps        map[string]string // published name to range, for example acme/tool/lib: ^1.2
	Needs       objects.Digest    // digest of the tool's sandbox needs; zero when it states none
	Caps        objects.Digest    // digest of the capabilities that a directive declares; zero when none
}

// Entry is one published version: one line of a catalogue.
type Entry struct {
	Ref       objects.Ref
	Version   string         // semantic version, literal text
	Path      string         // slash path below .ai
	Sum       objects.Digest // SHA-256 of the raw file
	Size      int64          // bytes of the raw file
	Author    objects.Fingerprint
	Publisher objects.Fingerprint
	Commit    store.OID // the content commit: an address, Sum is the evidence
	Seq       uint64    // the operation that published it
	Time      time.Time // time of that operation, UTC, whole seconds
	Status    Status
	Reason    string // reason for the status; "" while ok
	Meta      Meta
}

// Name returns "acme/tool/hello@1.4.0".
func (e *Entry) Name() string { return e.Ref.Published() + "@" + e.Version }

// compareKey orders entries by item, then version, both as bytes.
func compareKey(a *Entry, item, version string) int {
	return cmp.Or(strings.Compare(a.Ref.Published(), item), strings.Compare(a.Version, version))
}

// ShardOf returns the shard that holds every version of an item: the first byte
// of the SHA-256 of "kind/name".
func ShardOf(ref objects.Ref) byte {
	_, rest, _ := strings.Cut(ref.Published(), "/")
	sum := sha256.Sum256([]byte(rest))
	return sum[0]
}

// ParseName reads "acme/tool/hello@1.4.0", the one spelling of a published version.
func ParseName(s string) (objects.Ref, string, error) {
	item, version, ok := strings.Cut(s, "@")
	if !ok {
		return objects.Ref{}, "", fault.New(fault.Malformed, "name %q: want namespace/kind/name@version", words.Brief(s))
	}
	ref, err := parseItem(item)
	if err != nil {
		return ref, "", err
	}
	return ref, version, checkVersion(version)
}

// parseItem reads "acme/tool/hello" and no other form of a ref.
func parseItem(s string) (objects.Ref, error) {
	ref, err := objects.ParseRef(s)
	if err != nil || ref.Published() != s {
		return objects.Ref{}, fault.New(fault.Malformed, "item %q: want namespace/kind/name, for example acme/tool/hello", words.Brief(s))
	}
	return ref, nil
}

// checkVersion refuses build metadata, because two versions of equal precedence would make "the
// newest" ambiguous.
func checkVersion(s string) error {
	v, err := objects.ParseVersion(s)
	if err != nil || v.Build != "" || v.String() != s {
		return fault.New(fault.Malformed, "version %q: want a semantic version without build metadata, for example 1.4.0", words.Brief(s))
	}
	return nil
}

// check refuses an entry that no publisher may write. It ignores the fields that Apply derives:
// publisher, position, time and status.
func (e *Entry) check() error {
	name := words.Brief(e.Name())
	ref, err := objects.RefOfPublished(e.Path)
	if _, in := objects.InBundles(e.Path); in != (e.Ref.Kind == objects.Bundle) {
		return fault.New(fault.Malformed, "%s: path %q: a member of a bundle is published with it", name, words.Brief(e.Path))
	}
	if err != nil || ref != e.Ref || len(e.Path) > maxPath || store.CheckName(e.Path[strings.LastIndexByte(e.Path, '/')+1:]) != nil {
		return fault.New(fault.Malformed, "%s: path %q: is not the path of this item", name, words.Brief(e.Path))
	}
	if e.Size <= 0 || e.Size > MaxItemSize {
		return fault.New(fault.Malformed, "%s: size %d: want 1 to %d bytes", name, e.Size, MaxItemSize)
	}
	if e.Sum.IsZero() || e.Author.IsZero() || e.Commit.IsZero() {
		return fault.New(fault.Malformed, "%s: no digest, author or commit", name)
	}
	if err := checkVersion(e.Version); err != nil {
		return err
	}
	return e.Meta.check(name)
}

func (m *Meta) check(name string) error {
	if m.Description != "" {
		if err := checkText("description", m.Description, MaxDescription); err != nil {
			return err
		}
	}
	if len(m.Deps) > maxDeps {
		return fault.New(fault.Malformed, "%s: %d dependencies: want at most %d", name, len(m.Deps), maxDeps)
	}
	size := 0
	for item, want := range m.Deps {
		if size += len(item) + len(want); size > objects.MaxDepsSize {
			return fault.New(fault.Malformed, "%s: dependencies: more than %d bytes of names and ranges", name, objects.MaxDepsSize)
		}
		if _, err := parseItem(item); err != nil {
			return err
		}
		if _, err := objects.ParseRange(want); err != nil || len(want) > 100 || !printable(want) {
			return fault.New(fault.Malformed, "%s: dependency %s: range %q", name, item, words.Brief(want))
		}
	}
	return nil
}

// jsonMeta and jsonEntry are the decoded forms. The encoder below is written by hand, so that key
// order, escapes and omitted values are the same in all implementations.
type jsonMeta struct {
	Caps        string            `json:"caps"`
	Deps        map[string]string `json:"deps"`
	Description string            `json:"description"`
	Needs       string            `json:"needs"`
}

type jsonEntry struct {
	jsonMeta
	Author    string `json:"author"`
	Commit    string `json:"commit"`
	Item      string `json:"item"`
	Path      string `json:"path"`
	Publisher string `json:"publisher"`
	Reason    string `json:"reason"`
	Seq       uint64 `json:"seq"`
	SHA256    string `json:"sha256"`
	Size      int64  `json:"size"`
	State     string `json:"state"`
	Time      string `json:"time"`
	Version   string `json:"version"`
}

// A jsonLine writes one JSON object: sorted keys, no spaces, ASCII, no empty values. The caller
// gives the keys in order.
type jsonLine struct{ b []byte }

func (l *jsonLine) key(k string) {
	if len(l.b) == 0 || l.b[len(l.b)-1] == '\n' {
		l.b = append(l.b, '{')
	} else if l.b[len(l.b)-1] != '{' {
		l.b = append(l.b, ',')
	}
	l.b = append(append(append(l.b, '"'), k...), '"', ':')
}

func (l *jsonLine) text(k, v string) {
	if v != "" {
		l.key(k)
		l.b = appendQuoted(l.b, v)
	}
}

func (l *jsonLine) digest(k string, d objects.Digest) {
	if !d.IsZero() {
		l.text(k, d.String())
	}
}

func (l *jsonLine) number(k string, n int64) {
	l.key(k)
	l.b = strconv.AppendInt(l.b, n, 10)
}

func (l *jsonLine) deps(deps map[string]string) {
	if len(deps) == 0 {
		return
	}
	l.key("deps")
	l.b = append(l.b, '{')
	for _, n := range slices.Sorted(maps.Keys(deps)) {
		l.text(n, deps[n])
	}
	l.b = append(l.b, '}')
}

func (j *jsonMeta) meta() (Meta, error) {
	caps, err := optionalDigest(j.Caps)
	needs, err2 := optionalDigest(j.Needs)
	return Meta{Description: j.Description, Deps: j.Deps, Caps: caps, Needs: needs}, cmp.Or(err, err2)
}

// optionalDigest returns the zero digest for "".
func optionalDigest(s string) (objects.Digest, error) {
	if s == "" {
		return objects.Digest{}, nil
	}
	return objects.ParseDigest(s)
}

const TimeLayout = "2006-01-02T15:04:05Z"

// AppendLine appends the entry's catalogue line with its line feed.
func (e *Entry) AppendLine(b []byte) []byte {
	l := jsonLine{b}
	l.text("author", e.Author.String())
	l.digest("caps", e.Meta.Caps)
	l.text("commit", e.Commit.String())
	l.deps(e.Meta.Deps)
	l.text("description", e.Meta.Description)
	l.text("item", e.Ref.Published())
	l.digest("needs", e.Meta.Needs)
	l.text("path", e.Path)
	l.text("publisher", e.Publisher.String())
	l.text("reason", e.Reason)
	l.number("seq", int64(e.Seq))
	l.digest("sha256", e.Sum)
	l.number("size", e.Size)
	l.text("state", string(e.Status))
	l.text("time", e.Time.Format(TimeLayout))
	l.text("version", e.Version)
	return append(l.b, '}', '\n')
}

// ParseEntry reads one catalogue line without its line feed. It accepts only what AppendLine
// writes, so it needs the slower strict reader only for the wording of errors; lines are very many.
func ParseEntry(line []byte) (*Entry, error) {
	e, err := parseEntry(line)
	if err == nil {
		return e, nil
	}
	return nil, cmp.Or(strict.Decode(line, maxEntry, new(jsonEntry)), err)
}

func parseEntry(line []byte) (*Entry, error) {
	if len(line) > maxEntry {
		return nil, fault.New(fault.Limit, "catalogue line of %d bytes", len(line))
	}
	var j jsonEntry
	if err := json.Unmarshal(line, &j); err != nil {
		return nil, err
	}
	e, err := j.entry()
	if err != nil {
		return nil, err
	}
	if got := e.AppendLine(make([]byte, 0, len(line)+1)); !bytes.Equal(got[:len(got)-1], line) {
		return nil, fault.New(fault.Malformed, "catalogue line of %s: is not in canonical form", words.Brief(e.Name()))
	}
	return e, nil
}

// maxEntry bounds a catalogue line, in bytes.
const maxEntry = 16 << 10

func (j *jsonEntry) entry() (*Entry, error) {
	e := &Entry{Version: j.Version, Path: j.Path, Size: j.Size, Seq: j.Seq, Status: Status(j.State), Reason: j.Reason}
	var errs [7]error
	e.Ref, errs[0] = parseItem(j.Item)
	e.Sum, errs[1] = objects.ParseDigest(j.SHA256)
	e.Author, errs[2] = objects.ParseFingerprint(j.Author)
	e.Publisher, errs[3] = objects.ParseFingerprint(j.Publisher)
	e.Commit, errs[4] = store.ParseOID(j.Commit)
	e.Time, errs[5] = ParseTime(j.Time)
	e.Meta, errs[6] = j.meta()
	if err := cmp.Or(errs[:]...); err != nil {
		return nil, fault.New(fault.Malformed, "catalogue line of %q: %w", words.Brief(j.Item), err)
	}
	if err := e.check(); err != nil {
		return nil, err
	}
	return e, e.checkStatus()
}

func (e *Entry) checkStatus() error {
	switch e.Status {
	case StatusOK:
		if e.Reason != "" {
			return fault.New(fault.Malformed, "%s: a reason without a status", words.Brief(e.Name()))
		}
	case StatusDeprecated, StatusYanked, StatusRevoked, StatusRedacted:
		if err := checkText("reason", e.Reason, MaxReason); err != nil {
			return err
		}
	default:
		return fault.New(fault.Malformed, "%s: state %q", words.Brief(e.Name()), words.Brief(string(e.Status)))
	}
	if e.Seq < 2 || e.Seq > maxCount {
		return fault.New(fault.Malformed, "%s: seq %d", words.Brief(e.Name()), e.Seq)
	}
	return nil
}

func ParseTime(s string) (time.Time, error) {
	t, err := time.Parse(TimeLayout, s)
	if err != nil || t.Format(TimeLayout) != s {
		return time.Time{}, fault.New(fault.Malformed, "time %q: want 2006-01-02T15:04:05Z", words.Brief(s))
	}
	return t, nil
}

// NamedEntries returns entries for names like "acme/tool/hello@1.4.0", sorted as in a catalogue,
// with only Ref and Version set. All names must belong to one namespace.
func NamedEntries(names []string) ([]Entry, error) {
	if len(names) == 0 || len(names) > MaxItems {
		return nil, fault.New(fault.Usage, "%d versions named: want 1 to %d", len(names), MaxItems)
	}
	var out []Entry
	for _, n := range names {
		ref, version, err := ParseName(n)
		if err != nil {
			return nil, fault.New(fault.Usage, "%w", err)
		}
		if len(out) > 0 && out[0].Ref.ID.Namespace() != ref.ID.Namespace() {
			return nil, fault.New(fault.Usage, "%s and %s are of different namespaces", names[0], n)
		}
		out = append(out, Entry{Ref: ref, Version: version})
	}
	slices.SortFunc(out, func(a, b Entry) int { return compareKey(&a, b.Ref.Published(), b.Version) })
	return out, nil
}

// CheckNew refuses a new version that no catalogue line can describe. It has no commit yet.
func (e Entry) CheckNew() error {
	e.Commit = emptyTree
	return e.check()
}
