package store

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Bounds of a commit object.
const (
	MaxCommitSize    = 4 << 20 // bytes
	MaxCommitParents = 1024
)

// Ident names the author of a commit.
type Ident struct{ Name, Email string }

// Stamp is the text of an author or committer header: a person, and the time by their own
// clock. Zone is kept as written, so that a commit encodes to the same bytes.
type Stamp struct {
	Name, Email string
	Unix        int64  // seconds since 1970
	Zone        string // "+hhmm" or "-hhmm"
}

// At returns a stamp for the ident at the time when, to the second, in when's zone.
func (who Ident) At(when time.Time) Stamp {
	return Stamp{Name: who.Name, Email: who.Email, Unix: when.Unix(), Zone: when.Format("-0700")}
}

// Time returns the instant that the stamp claims, in its zone.
func (s Stamp) Time() time.Time {
	t := time.Unix(s.Unix, 0)
	if z, err := time.Parse("-0700", s.Zone); err == nil {
		_, off := z.Zone()
		return t.In(time.FixedZone(s.Zone, off))
	}
	return t.UTC()
}

// Commit is a commit object. Raw holds its exact bytes; the other fields were read from them.
// The slices belong to the Commit: do not change them.
type Commit struct {
	ID        OID // set by Reader.Commit; zero after ParseCommit
	Tree      OID
	Parents   []OID
	Author    Stamp
	Committer Stamp
	Signature string // the armored signature, without final newline; "" for none
	Message   string // everything after the blank line
	Raw       []byte

	sigFrom, sigTo int // offsets of the signature header in Raw
}

// Unsigned returns the bytes that the signature covers: Raw without the signature header.
func (c *Commit) Unsigned() []byte {
	out := make([]byte, 0, len(c.Raw))
	out = append(out, c.Raw[:c.sigFrom]...)
	return append(out, c.Raw[c.sigTo:]...)
}

// Parent returns the first parent; zero for a root commit.
func (c *Commit) Parent() OID {
	if len(c.Parents) == 0 {
		return OID{}
	}
	return c.Parents[0]
}

// signatureHeader is the header in which git keeps the signature of a commit of format f.
func signatureHeader(f Format) string {
	if f == SHA256 {
		return "gpgsig-sha256"
	}
	return "gpgsig"
}

// ParseCommit splits a commit strictly: one tree, its parents, one author, one committer, at
// most one signature, in this order and nothing else, no NUL byte. EncodeCommit gives the same
// bytes back, except that it refuses a CR in a name. Errors are fault.Malformed, or
// fault.Limit for too many bytes or parents. The Commit keeps raw.
func ParseCommit(raw []byte) (*Commit, error) {
	if len(raw) > MaxCommitSize {
		return nil, fault.New(fault.Limit, "parse commit: %d bytes, at most %d are read", len(raw), MaxCommitSize)
	}
	if bytes.IndexByte(raw, 0) >= 0 {
		return nil, fault.New(fault.Malformed, "parse commit: NUL byte")
	}
	p := lines{rest: raw}
	c := &Commit{Raw: raw}
	if err := c.parseLinks(&p); err != nil {
		return nil, err
	}
	var err error
	if c.Author, err = p.parseStamp("author"); err != nil {
		return nil, err
	}
	if c.Committer, err = p.parseStamp("committer"); err != nil {
		return nil, err
	}
	c.sigFrom = p.at
	if v, ok := p.header(signatureHeader(Format(c.Tree.n))); ok {
		if c.Signature, err = p.parseContinued(v); err != nil {
			return nil, err
		}
	}
	c.sigTo = p.at
	line, ok := p.next()
	if !ok || len(line) != 0 {
		return nil, fault.New(fault.Malformed, "parse commit: %q where the blank line before the message belongs", words.Brief(string(line)))
	}
	c.Message = string(p.rest)
	return c, nil
}

// parseLinks reads the tree and parent headers.
func (c *Commit) parseLinks(p *lines) error {
	v, ok := p.header("tree")
	if !ok {
		return fault.New(fault.Malformed, "parse commit: does not begin with a tree header")
	}
	if c.Tree, ok = parseHex(v); !ok || c.Tree.IsZero() {
		return fault.New(fault.Malformed, "parse commit: tree %q", words.Brief(string(v)))
	}
	for {
		v, ok := p.header("parent")
		if !ok {
			return nil
		}
		id, ok := parseHex(v)
		if !ok || id.n != c.Tree.n {
			return fault.New(fault.Malformed, "parse commit: parent %q", words.Brief(string(v)))
		}
		if len(c.Parents) == MaxCommitParents {
			return fault.New(fault.Limit, "parse commit: more than %d parents", MaxCommitParents)
		}
		c.Parents = append(c.Parents, id)
	}
}

// commitLinks reads only the headers that reachability needs. So it also reads commits of
// other programs that ParseCommit refuses (encodings, merge tags).
func commitLinks(raw []byte) (tree OID, parents []OID, when int64, err error) {
	p := lines{rest: raw}
	var c Commit
	if err := c.parseLinks(&p); err != nil {
		return OID{}, nil, 0, err
	}
	if _, err := p.parseStamp("author"); err != nil {
		return OID{}, nil, 0, err
	}
	st, err := p.parseStamp("committer")
	if err != nil {
		return OID{}, nil, 0, err
	}
	return c.Tree, c.Parents, st.Unix, nil
}

// parseContinued reads the continuation lines of a header with the first line v.
func (p *lines) parseContinued(v []byte) (string, error) {
	if len(v) == 0 {
		return "", fault.New(fault.Malformed, "parse commit: empty signature")
	}
	var sb strings.Builder
	sb.Write(v)
	for len(p.rest) > 0 && p.rest[0] == ' ' {
		line, ok := p.next()
		if !ok {
			return "", fault.New(fault.Malformed, "parse commit: unfinished signature")
		}
		sb.WriteByte('\n')
		sb.Write(line[1:])
	}
	return sb.String(), nil
}

// parseStamp reads one author or committer header by the rules of git fsck.
func (p *lines) parseStamp(name string) (Stamp, error) {
	v, ok := p.header(name)
	if !ok {
		return Stamp{}, fault.New(fault.Malformed, "parse commit: no %s header where it belongs", name)
	}
	s, ok := splitStamp(string(v))
	if !ok {
		return Stamp{}, fault.New(fault.Malformed, "parse commit: %s %q: want \"name <email> seconds +hhmm\"", name, words.Brief(string(v)))
	}
	return s, nil
}

func splitStamp(v string) (Stamp, bool) {
	var s Stamp
	var rest string
	var ok bool
	if s.Name, rest, ok = strings.Cut(v, " <"); !ok || strings.ContainsAny(s.Name, "<>") {
		return s, false
	}
	if s.Email, rest, ok = strings.Cut(rest, "> "); !ok || strings.ContainsAny(s.Email, "<>") {
		return s, false
	}
	secs, zone, ok := strings.Cut(rest, " ")
	if !ok || len(zone) != 5 || zone[0] != '+' && zone[0] != '-' || !isDigits(zone[1:]) {
		return s, false
	}
	n, err := strconv.ParseInt(secs, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != secs {
		return s, false
	}
	s.Unix, s.Zone = n, zone
	return s, true
}

func isDigits(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

// lines reads the header lines of an object one by one.
type lines struct {
	rest []byte
	at   int // bytes consumed
}

// next returns the next line without its LF; false when no full line is left.
func (p *lines) next() ([]byte, bool) {
	i := bytes.IndexByte(p.rest, '\n')
	if i < 0 {
		return nil, false
	}
	line := p.rest[:i]
	p.rest, p.at = p.rest[i+1:], p.at+i+1
	return line, true
}

// header consumes the next line if it is the named header, and returns its value.
func (p *lines) header(name string) ([]byte, bool) {
	if len(p.rest) <= len(name) || string(p.rest[:len(name)]) != name || p.rest[len(name)] != ' ' {
		return nil, false
	}
	line, ok := p.next()
	if !ok {
		return nil, false
	}
	return line[len(name)+1:], true
}

// EncodeCommit returns the bytes of a commit with the Tree, Parents, Author, Committer,
// Signature and Message of c. It refuses everything that ParseCommit or git fsck would refuse,
// so that no field can smuggle in a header.
func EncodeCommit(c *Commit) ([]byte, error) {
	if c.Tree.IsZero() {
		return nil, fault.New(fault.Malformed, "encode commit: no tree")
	}
	if len(c.Parents) > MaxCommitParents {
		return nil, fault.New(fault.Limit, "encode commit: %d parents, at most %d", len(c.Parents), MaxCommitParents)
	}
	var b bytes.Buffer
	b.WriteString("tree " + c.Tree.String() + "\n")
	for _, p := range c.Parents {
		if p.n != c.Tree.n {
			return nil, fault.New(fault.Malformed, "encode commit: parent %s and tree %s of different formats", p, c.Tree)
		}
		b.WriteString("parent " + p.String() + "\n")
	}
	for _, h := range []struct {
		name string
		s    Stamp
	}{{"author", c.Author}, {"committer", c.Committer}} {
		line, err := encodeStamp(h.s)
		if err != nil {
			return nil, fault.New(fault.Malformed, "encode commit: %s: %w", h.name, err)
		}
		b.WriteString(h.name + " " + line + "\n")
	}
	if c.Signature != "" {
		b.WriteString(signatureHeader(Format(c.Tree.n)) + " " + strings.ReplaceAll(c.Signature, "\n", "\n ") + "\n")
	}
	b.WriteString("\n" + c.Message)
	if bytes.IndexByte(b.Bytes(), 0) >= 0 {
		return nil, fault.New(fault.Malformed, "encode commit: NUL byte")
	}
	if b.Len() > MaxCommitSize {
		return nil, fault.New(fault.Limit, "encode commit: %d bytes, at most %d", b.Len(), MaxCommitSize)
	}
	return b.Bytes(), nil
}

func encodeStamp(s Stamp) (string, error) {
	line := s.Name + " <" + s.Email + "> " + strconv.FormatInt(s.Unix, 10) + " " + s.Zone
	back, ok := splitStamp(line)
	if !ok || back != s || strings.ContainsAny(line, "\r\n\x00") {
		return "", fault.New(fault.Malformed, "%q is not \"name <email> seconds +hhmm\"", words.Brief(line))
	}
	return line, nil
}

// signCommit encodes c, gets a signature when there is a signer, and returns the final bytes.
// It does not change c.
func signCommit(ctx context.Context, c Commit, signer CommitSigner) ([]byte, error) {
	if !utf8.ValidString(c.Message) {
		return nil, fault.New(fault.Malformed, "encode commit: message is not UTF-8")
	}
	c.Signature = ""
	raw, err := EncodeCommit(&c)
	if err != nil || signer == nil {
		return raw, err
	}
	armor, err := signer.SignCommit(ctx, raw)
	if err != nil {
		return nil, err
	}
	if c.Signature = strings.TrimRight(armor, "\n"); c.Signature == "" {
		return nil, fault.New(fault.Failed, "sign commit: the signer returned nothing")
	}
	return EncodeCommit(&c)
}

// CommitLinks returns the tree and parents of a commit, even if ParseCommit refuses its other
// headers.
func CommitLinks(raw []byte) (tree OID, parents []OID, err error) {
	tree, parents, _, err = commitLinks(raw)
	return tree, parents, err
}

// Tag is the part of an annotated tag that rye reads: its target.
type Tag struct {
	Target OID
	Type   Type // of the target, according to the tag
	Name   string
}

// ParseTag reads an annotated tag. Errors are fault.Malformed.
func ParseTag(raw []byte) (*Tag, error) {
	p := lines{rest: raw}
	t := &Tag{}
	obj, ok1 := p.header("object")
	typ, ok2 := p.header("type")
	name, ok3 := p.header("tag")
	if !ok1 || !ok2 || !ok3 {
		return nil, fault.New(fault.Malformed, "parse tag: want object, type and tag headers")
	}
	var ok bool
	if t.Target, ok = parseHex(obj); !ok || t.Target.IsZero() {
		return nil, fault.New(fault.Malformed, "parse tag: object %q", words.Brief(string(obj)))
	}
	var err error
	if t.Type, err = ParseType(string(typ)); err != nil {
		return nil, fault.New(fault.Malformed, "parse tag: %w", err)
	}
	t.Name = string(name)
	for {
		line, ok := p.next()
		if !ok {
			return nil, fault.New(fault.Malformed, "parse tag: no blank line before the message")
		}
		if len(line) == 0 {
			return t, nil
		}
	}
}
