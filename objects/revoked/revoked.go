// Package revoked keeps the versions that registries revoked, in one sorted list for each
// registry and namespace. It finds a digest in a list without reading the whole of it.
//
// A list is a text file of lines, each ended by a line feed:
//
//	<digest> <key> <version> <reason>
//
//	38af…f8b0 NELJdxnKbAMCABDdqYZa2EXg6Ci8ZpTcZmsgMkazEhI acme/tool/hello@1.0.0 "wipes the disk"
//
// The digest is the SHA-256 of the revoked file, 64 lower-case hexadecimal digits. The key
// signed the revocation: 43 characters of base64url, or - where a catalogue shows the
// version as revoked and the operation is not known. The reason is a quoted string of ASCII.
// Lines are sorted by their bytes and none stands there twice. docs/format/registry.md is
// normative.
package revoked

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// MaxLine bounds a line, in bytes: a digest, a key, the name of a version and a reason.
const MaxLine = 8 << 10

// maxList bounds a list that Add reads, in bytes: about eight million versions.
const maxList = 1 << 30

// A Version is one content that a registry revoked.
type Version struct {
	Digest objects.Digest      // of the whole file
	By     objects.Fingerprint // of the key that signed the revocation; zero when it is not known
	Name   string              // acme/tool/hello@1.0.0
	Reason string              // from the signer, one line
}

// noKey replaces an unknown key in a line.
const noKey = "-"

// Line returns the version as a line, without line feed.
func (v Version) Line() string {
	by := noKey
	if !v.By.IsZero() {
		by = v.By.URL()
	}
	return v.Digest.Hex() + " " + by + " " + v.Name + " " + strconv.QuoteToASCII(v.Reason)
}

// ParseLine is the inverse of Line. It refuses any other line.
func ParseLine(line string) (v Version, err error) {
	no := func() (Version, error) {
		return Version{}, fault.New(fault.Malformed, "line %q: want a digest, a key, a version and a reason", words.Brief(line))
	}
	digest, rest, _ := strings.Cut(line, " ")
	by, rest, _ := strings.Cut(rest, " ")
	name, quoted, ok := strings.Cut(rest, " ")
	if !ok || name == "" || len(line) > MaxLine {
		return no()
	}
	v.Name = name
	if v.Digest, err = objects.ParseDigest("sha256:" + digest); err != nil {
		return no()
	}
	if by != noKey {
		if v.By, err = objects.ParseFingerprintURL(by); err != nil {
			return no()
		}
	}
	if v.Reason, err = strconv.Unquote(quoted); err != nil || v.Line() != line {
		return no()
	}
	return v, nil
}

// Path returns the file of a list below dir, the directory for this user's memory of
// registries: <dir>/<64 hex of the identity>.revoked/<namespace>.
func Path(dir string, registry objects.Digest, namespace string) string {
	return filepath.Join(dir, registry.Hex()+".revoked", namespace)
}

// Add adds versions to the list at a path, durably and as a whole. The caller holds a lock
// that keeps other writers out. A version that the list has without a key gets the key.
func Add(path string, news []Version) error {
	old, err := place.Read(path, maxList)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Failed, "read the revoked versions: %w", err)
	}
	text := merge(old, news)
	if bytes.Equal(text, old) {
		return nil
	}
	return place.File(path, text, 0o600)
}

// held holds versions whose list could not be written, by the path of the list. A revocation
// applies from the moment that rye reads it, for as long as the process runs.
var held struct {
	sync.Mutex
	of map[string][]Version
}

// Hold keeps versions in memory until the process ends, for a caller whose Add failed. Find
// then returns them for the list at that path. It is safe for concurrent use.
func Hold(path string, news []Version) {
	held.Lock()
	defer held.Unlock()
	if held.of == nil {
		held.of = make(map[string][]Version)
	}
	for _, v := range news {
		if !slices.Contains(held.of[path], v) {
			held.of[path] = append(held.of[path], v)
		}
	}
}

// Held returns the paths of the lists below a directory that have held versions, sorted, and
// the number of these versions for each.
func Held(dir string) (paths []string, counts []int) {
	held.Lock()
	defer held.Unlock()
	for _, path := range slices.Sorted(maps.Keys(held.of)) {
		if filepath.Dir(filepath.Dir(path)) == filepath.Clean(dir) {
			paths, counts = append(paths, path), append(counts, len(held.of[path]))
		}
	}
	return paths, counts
}

// findHeld returns the held versions of a list that have a digest.
func findHeld(path string, digest objects.Digest) (found []Version) {
	held.Lock()
	defer held.Unlock()
	for _, v := range held.of[path] {
		if v.Digest == digest {
			found = append(found, v)
		}
	}
	return found
}

// merge returns the sorted lines of a list and of new versions.
func merge(old []byte, news []Version) []byte {
	lines := make([]string, 0, len(news))
	for _, v := range news {
		lines = append(lines, v.Line()+"\n")
	}
	slices.Sort(lines)
	out := make([]byte, 0, len(old)+len(lines)*128)
	var last []byte
	add := func(line []byte) {
		switch {
		case bytes.Equal(last, line):
			return
		case about(last, line) && bytes.Contains(last[:66], []byte(" "+noKey)):
			out = out[:len(out)-len(last)] // "-" is sorted before every key
		}
		out = append(out, line...)
		last = line
	}
	for rest := old; len(rest) > 0 || len(lines) > 0; {
		line, after := cutLine(rest)
		if len(lines) > 0 && (len(rest) == 0 || cmp.Compare(lines[0], string(line)) <= 0) {
			add([]byte(lines[0]))
			lines = lines[1:]
			continue
		}
		add(line)
		rest = after
	}
	return out
}

// about reports whether two lines have the same digest and the same version name.
func about(a, b []byte) bool {
	va, errA := ParseLine(strings.TrimSuffix(string(a), "\n"))
	if errA != nil || len(a) < 64 || len(b) < 64 || !bytes.Equal(a[:64], b[:64]) {
		return false
	}
	vb, errB := ParseLine(strings.TrimSuffix(string(b), "\n"))
	return errB == nil && va.Name == vb.Name
}

func cutLine(text []byte) (line, rest []byte) {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return text[:i+1], text[i+1:]
	}
	return text, nil
}

// All returns every version in a list, sorted, without held ones. A missing list is empty. A
// list that breaks its format is Integrity.
func All(path string) (all []Version, err error) {
	raw, err := place.Read(path, maxList)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.Failed, "read the revoked versions: %w", err)
	}
	for line := range strings.Lines(string(raw)) {
		text, ended := strings.CutSuffix(line, "\n")
		v, err := ParseLine(text)
		if err == nil && !ended {
			err = fault.New(fault.Malformed, "the last line does not end")
		}
		if err != nil {
			return nil, damaged(path, err)
		}
		all = append(all, v)
	}
	return all, nil
}

// Find returns the held versions of a list that have a digest or, when there are none, the
// versions in its file. A missing list is empty. Find reads only a few blocks of the file.
func Find(path string, digest objects.Digest) ([]Version, error) {
	if found := findHeld(path, digest); len(found) > 0 {
		return found, nil
	}
	return findStored(path, digest)
}

func findStored(path string, digest objects.Digest) ([]Version, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.Failed, "read the revoked versions: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return nil, damaged(path, fmt.Errorf("not a regular file"))
	}
	found, err := find(f, st.Size(), digest.Hex())
	if err != nil {
		return nil, damaged(path, err)
	}
	return found, nil
}

// wholeList is a size in bytes for each wanted digest. Up to this size, reading a whole list
// is faster than finding each digest.
const wholeList = 512

// Among returns the versions of a list that have one of the digests, held ones included. A missing
// list is empty.
func Among(path string, digests map[objects.Digest]bool) (found []Version, err error) {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fault.New(fault.Failed, "read the revoked versions: %w", err)
	case st.Size() <= wholeList*int64(len(digests)):
		if found, err = All(path); err != nil {
			return nil, err
		}
		found = slices.DeleteFunc(found, func(v Version) bool { return !digests[v.Digest] })
	default:
		for d := range digests {
			of, err := findStored(path, d)
			if err != nil {
				return nil, err
			}
			found = append(found, of...)
		}
	}
	for d := range digests {
		for _, v := range findHeld(path, d) {
			if !slices.Contains(found, v) {
				found = append(found, v)
			}
		}
	}
	return found, nil
}

func damaged(path string, err error) error {
	return fault.New(fault.Integrity, "read the revoked versions, %s: %w", path, err).
		Advise("rye fetch, after moving the damaged file away: mv %s %[1]s.damaged", path)
}

// block is the size of one read, in bytes. It holds two lines of any length.
const block = 2 * MaxLine

// find searches, by halving, for the first line that begins with a digest or sorts after it.
// From there it reads lines as long as they have the digest.
func find(f interface {
	ReadAt([]byte, int64) (int, error)
}, size int64, digest string) (found []Version, err error) {
	buf := make([]byte, block)
	read := func(at int64) ([]byte, error) {
		n, err := f.ReadAt(buf[:min(int64(block), size-at)], at)
		if int64(n) < min(int64(block), size-at) {
			return nil, cmp.Or(err, fs.ErrInvalid)
		}
		return buf[:n], nil
	}
	lo, hi := int64(0), size // the line begins at lo, at hi, or between them
	for hi-lo > block {
		mid := lo + (hi-lo)/2
		text, err := read(mid)
		if err != nil {
			return nil, err
		}
		i := bytes.IndexByte(text, '\n')
		if i < 0 || len(text) < i+1+64 {
			if i >= 0 && mid+int64(i)+1 >= size {
				hi = mid
				continue
			}
			return nil, fault.New(fault.Malformed, "a line of more than %d bytes", MaxLine)
		}
		if string(text[i+1:i+65]) < digest {
			lo = mid + int64(i) + 1
		} else {
			hi = mid + int64(i) + 1
		}
	}
	for at := lo; at < size; {
		text, err := read(at)
		if err != nil {
			return nil, err
		}
		n := bytes.LastIndexByte(text, '\n') + 1
		if n == 0 {
			return nil, fault.New(fault.Malformed, "a line that does not end, at byte %d", at)
		}
		at += int64(n)
		for line := range bytes.Lines(text[:n]) {
			if len(line) < 66 {
				return nil, fault.New(fault.Malformed, "a line of %d bytes", len(line))
			}
			switch cmp.Compare(string(line[:64]), digest) {
			case 1:
				return found, nil
			case 0:
				v, err := ParseLine(string(line[:len(line)-1]))
				if err != nil {
					return nil, err
				}
				found = append(found, v)
			}
		}
	}
	return found, nil
}
