package trust

import (
	"bytes"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// Bounds of .ai/allowed_signers.
const (
	MaxSignersFile = 1 << 20 // bytes
	maxSigners     = 1000    // keys
	maxSignersOf   = 1000    // namespaces for one key
	maxSignersAll  = 8192    // namespaces for all keys together
)

// signersOption is in every line, so that ssh-keygen and git can use the file.
const signersOption = `namespaces="git"`

// removalBegins is the prefix of a line that removes a signer. Such a line is kept unchanged.
// A malformed one has no effect, and the rest of the file is still valid.
const removalBegins = "# rye:removed:"

// Signers holds the declarations in .ai/allowed_signers: keys, and the namespaces that each
// signs here. docs/format/statement.md describes the file. A declaration does not make a key
// trusted.
type Signers struct {
	comments []string // lines, kept at the top
	keys     []PublicKey
	of       map[PublicKey][]string // sorted
	prints   map[objects.Fingerprint]PublicKey
}

// ParseSigners reads the text of an allowed_signers file strictly, so that no other reader
// finds more in it than rye. A key may be in several lines, as after a merge that took both
// sides; it then has the namespaces of all of them.
func ParseSigners(raw []byte) (*Signers, error) {
	if len(raw) > MaxSignersFile {
		return nil, fault.New(fault.Limit, "allowed_signers: %d bytes, at most %d", len(raw), MaxSignersFile)
	}
	s := &Signers{}
	n := 0
	for line := range bytes.Lines(raw) {
		n++
		text := strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")
		switch {
		case text == "":
		case strings.HasPrefix(text, "#"):
			if err := checkText("comment", text, maxText); err != nil && !strings.HasPrefix(text, removalBegins) {
				return nil, badSigners(n, err)
			}
			s.comments = append(s.comments, text)
		default:
			if err := s.line(text); err != nil {
				return nil, badSigners(n, err)
			}
		}
	}
	return s, s.bounded()
}

func badSigners(line int, err error) error {
	code := fault.Malformed
	if fault.Is(err, fault.Limit) {
		code = fault.Limit
	}
	return fault.New(code, "allowed_signers line %d: %w", line, err)
}

// line reads one line: namespaces, the option, the key, and perhaps a comment.
func (s *Signers) line(text string) error {
	f := strings.SplitN(text, " ", 5)
	if len(f) < 4 || f[1] != signersOption || f[2] != keyType {
		return fault.New(fault.Malformed, "want <namespaces> %s %s <base64>", signersOption, keyType)
	}
	k, err := ParsePublicKey(f[2] + " " + f[3])
	if err != nil {
		return err
	}
	if k.Authorized() != f[2]+" "+f[3] {
		return fault.New(fault.Malformed, "the key is not in canonical form")
	}
	if len(f) == 5 {
		if err := checkText("comment", f[4], maxText); err != nil {
			return err
		}
	}
	namespaces := strings.Split(f[0], ",")
	for _, ns := range namespaces {
		if id, err := objects.ParseID(ns); err != nil || id.Namespace() != ns {
			return fault.New(fault.Malformed, "namespace %q: want lower-case letters, digits, _ and -", words.Brief(ns))
		}
	}
	s.Add(k, namespaces...)
	return nil
}

// bounded refuses more keys or namespaces than a person could review.
func (s *Signers) bounded() error {
	all := 0
	for k, of := range s.of {
		if all += len(of); len(of) > maxSignersOf {
			return fault.New(fault.Limit, "allowed_signers: more than %d namespaces of %s", maxSignersOf, k)
		}
	}
	if len(s.keys) > maxSigners || all > maxSignersAll {
		return fault.New(fault.Limit, "allowed_signers: %d keys with %d namespaces, at most %d and %d", len(s.keys), all, maxSigners, maxSignersAll)
	}
	return nil
}

// Add declares a key for namespaces, and reports whether that changed anything.
func (s *Signers) Add(k PublicKey, namespaces ...string) (changed bool) {
	if s.of == nil {
		s.of, s.prints = make(map[PublicKey][]string), make(map[objects.Fingerprint]PublicKey)
	}
	had, known := s.of[k]
	if !known {
		s.keys, s.prints[k.Fingerprint()] = append(s.keys, k), k
	}
	s.of[k] = sorted(slices.Concat(had, namespaces))
	return !known || len(s.of[k]) != len(had)
}

// Remove removes a key's declaration for a namespace. It adds the line l, which ends the
// grants that users gave the key before.
func (s *Signers) Remove(l objects.Dismissal) {
	if text := l.Line(); !slices.Contains(s.comments, text) {
		s.comments = append(s.comments, text)
	}
	k, ok := s.prints[l.Signer]
	if !ok {
		return
	}
	if s.of[k] = slices.DeleteFunc(s.of[k], func(ns string) bool { return ns == l.Namespace }); len(s.of[k]) > 0 {
		return
	}
	delete(s.of, k)
	delete(s.prints, l.Signer)
	s.keys = slices.DeleteFunc(s.keys, func(x PublicKey) bool { return x == k })
}

// Keys returns the declared keys, in the order of the file.
func (s *Signers) Keys() []PublicKey { return slices.Clone(s.keys) }

// Of returns the declared namespaces of a key, sorted; nil for a key that is not declared.
func (s *Signers) Of(k PublicKey) []string { return slices.Clone(s.of[k]) }

// Has reports whether a key is declared for a namespace.
func (s *Signers) Has(k PublicKey, namespace string) bool {
	_, ok := slices.BinarySearch(s.of[k], namespace)
	return ok
}

// Key returns the declared key with a fingerprint.
func (s *Signers) Key(fp objects.Fingerprint) (PublicKey, bool) {
	k, ok := s.prints[fp]
	return k, ok
}

// Encode returns the text of the file: the comments, then one line for each key, sorted by
// key. Adding a namespace to a key changes only one line.
func (s *Signers) Encode() []byte {
	lines := slices.Clone(s.comments)
	keys := slices.SortedFunc(slices.Values(s.keys), func(a, b PublicKey) int { return strings.Compare(a.Authorized(), b.Authorized()) })
	for _, k := range keys {
		lines = append(lines, strings.Join(s.of[k], ",")+" "+signersOption+" "+k.Authorized())
	}
	if len(lines) == 0 {
		return nil
	}
	return []byte(strings.Join(lines, "\n") + "\n")
}
