package registry

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// FormatVersion is the format of the logs that this package reads and writes.
const FormatVersion = 1

// OpKind names what an operation does.
type OpKind string

// The operations on a namespace.
const (
	OpClaim     OpKind = "claim"      // the first of a namespace; lists its keys
	OpPublish   OpKind = "publish"    // up to MaxItems new versions
	OpDeprecate OpKind = "deprecate"  // ok -> deprecated
	OpYank      OpKind = "yank"       // ok, deprecated -> yanked
	OpUnyank    OpKind = "unyank"     // yanked, deprecated -> ok
	OpRevoke    OpKind = "revoke"     // anything -> revoked, for good
	OpKeyAdd    OpKind = "key-add"    // keys that may sign from the next operation on
	OpKeyRetire OpKind = "key-retire" // a key may sign no more; what it signed stays
	OpKeyRevoke OpKind = "key-revoke" // a key is bad from a position on
)

// Bounds of one operation.
const (
	MaxItems = 256
	maxKeys  = 64
)

// KeyGrant is a public key with the proof that its owner wants it in a namespace.
type KeyGrant struct {
	Public trust.PublicKey
	Proof  []byte // see ProofMessage; nil for the key that signs the operation itself
}

// Op is one operation of a namespace's log: one commit, parsed and its signature
// checked. Whether the signer may do this is for Apply to say.
type Op struct {
	Kind      OpKind
	Registry  objects.Digest // identity of the registry
	Namespace string
	Genesis   objects.Digest // raw claim commit; zero in the claim itself
	Seq       uint64
	Prev      objects.Digest // raw previous commit; zero in the claim
	Root      uint64         // position of the root that the signer had seen
	State     objects.Digest // of the state after this operation

	Reason  string     // deprecate, yank, revoke, key-revoke
	Keys    []KeyGrant // claim, key-add
	Key     objects.Fingerprint
	BadFrom uint64  // key-revoke: the first operation by Key that no longer counts
	Items   []Entry // publish: all fields that Entry.check wants; else Ref and Version

	Envelope
}

// Envelope is what the commit around an operation's message says.
type Envelope struct {
	ID      store.OID
	Sum     objects.Digest // of the raw commit
	Tree    store.OID
	Parents []store.OID
	Signer  trust.PublicKey
	Time    time.Time // committer, UTC
}

func envelope(c *store.Commit, signer trust.PublicKey) Envelope {
	return Envelope{commitID(c), objects.DigestOf(c.Raw), c.Tree, c.Parents, signer, time.Unix(c.Committer.Unix, 0).UTC()}
}

// ParseOp reads an operation from a raw commit of a namespace branch. It is
// strict (fault.Malformed), and checks the SSHSIG signature (fault.Integrity, or
// fault.Untrusted when there is none). ParseOp then Message gives the same bytes.
func ParseOp(raw []byte) (Op, error) { return parseOp(raw, true) }

// parseOp leaves the signature unread when the commit's digest was verified
// before: then the Op has no Signer, and Apply would refuse it.
func parseOp(raw []byte, verify bool) (Op, error) {
	c, signer, err := openCommit(raw, verify)
	if err != nil {
		return Op{}, err
	}
	op, err := parseOpMessage(c.Message)
	if err != nil {
		return Op{}, fmt.Errorf("commit %s: %w", commitID(c), err)
	}
	op.Envelope = envelope(c, signer)
	return op, op.checkParents()
}

// openCommit splits a raw commit of a log strictly and checks its signature.
func openCommit(raw []byte, verify bool) (*store.Commit, trust.PublicKey, error) {
	c, err := store.ParseCommit(raw)
	if err != nil {
		return nil, trust.PublicKey{}, err
	}
	if c.Author != c.Committer || c.Committer.Zone != "+0000" || c.Committer.Unix < 0 || c.Committer.Unix > 1<<37 {
		return nil, trust.PublicKey{}, fault.New(fault.Malformed, "commit %s: author and committer differ, or are not in UTC", commitID(c))
	}
	if c.Signature == "" {
		return nil, trust.PublicKey{}, fault.New(fault.Untrusted, "commit %s: is not signed", commitID(c))
	}
	if !verify {
		return c, trust.PublicKey{}, nil
	}
	signer, err := trust.VerifySSHSIG(c.Signature, "git", c.Unsigned())
	if err != nil {
		return nil, trust.PublicKey{}, fmt.Errorf("commit %s: %w", commitID(c), err)
	}
	return c, signer, nil
}

// commitID returns the git id of a parsed commit.
func commitID(c *store.Commit) store.OID {
	return store.Format(len(c.Tree.Bytes())).Hash(store.TypeCommit, c.Raw)
}

// checkParents: the first parent is the log, the others are the content commits
// in the order of the items.
func (op *Op) checkParents() error {
	want := 0
	if op.Seq > 1 {
		want = 1
	}
	items := op.Items
	if op.Kind != OpPublish {
		items = nil
	}
	if len(op.Parents) != want+len(items) {
		return fault.New(fault.Malformed, "operation %d of %s: %d parents, want %d", op.Seq, op.Namespace, len(op.Parents), want+len(items))
	}
	for i := range items {
		if op.Parents[want+i] != items[i].Commit {
			return fault.New(fault.Malformed, "operation %d of %s: parent %d is not the content of %s", op.Seq, op.Namespace, want+i+1, items[i].Name())
		}
	}
	return nil
}

func parseOpMessage(text string) (Op, error) {
	m, err := parseMessage(text)
	if err != nil {
		return Op{}, err
	}
	f := &fields{list: m.trailers}
	var op Op
	op.parseHead(f)
	op.parseBody(f)
	if err := f.end(); err != nil {
		return Op{}, err
	}
	if op.Message() != text {
		return Op{}, fault.New(fault.Malformed, "operation %d of %s: message is not in its one spelling", op.Seq, op.Namespace)
	}
	return op, nil
}

func (op *Op) parseHead(f *fields) {
	if v := f.count("Rye-Format"); f.err == nil && v != FormatVersion {
		f.fail(newerFormat(v))
	}
	op.Kind = OpKind(f.need("Rye-Op"))
	op.Registry = f.digest("Rye-Registry")
	op.Namespace = f.need("Rye-Namespace")
	if f.err == nil {
		f.fail(CheckNamespace(op.Namespace))
	}
	first := op.Kind == OpClaim
	if !first {
		op.Genesis = f.digest("Rye-Genesis")
	}
	op.Seq = f.count("Rye-Seq")
	if f.err == nil && (op.Seq == 0 || (op.Seq == 1) != first) {
		f.fail(fault.New(fault.Malformed, "%s at position %d: a claim is the first operation, and only that", words.Brief(string(op.Kind)), op.Seq))
	}
	if !first {
		op.Prev = f.digest("Rye-Prev")
	}
	op.Root = f.count("Rye-Root")
	op.State = f.digest("Rye-State")
}

func newerFormat(v uint64) error {
	return fault.New(fault.Malformed, "format %d: this rye reads format %d", v, FormatVersion).Advise("a newer rye may read it")
}

func (f *fields) digest(key string) objects.Digest {
	v := f.need(key)
	if f.err != nil {
		return objects.Digest{}
	}
	d, err := objects.ParseDigest(v)
	f.fail(err)
	return d
}

func (op *Op) parseBody(f *fields) {
	switch op.Kind {
	case OpClaim, OpKeyAdd:
		op.Keys = f.keys()
	case OpPublish:
		for f.next("Rye-Item") {
			op.Items = append(op.Items, f.item())
		}
	case OpDeprecate, OpYank, OpRevoke, OpUnyank:
		if op.Kind != OpUnyank {
			op.Reason = f.text("Rye-Reason", MaxReason)
		}
		for f.next("Rye-Item") {
			var e Entry
			var err error
			e.Ref, e.Version, err = ParseName(f.need("Rye-Item"))
			f.fail(err)
			op.Items = append(op.Items, e)
		}
	case OpKeyRetire, OpKeyRevoke:
		if op.Kind == OpKeyRevoke {
			op.Reason = f.text("Rye-Reason", MaxReason)
		}
		op.Key = f.fingerprint("Rye-Key")
		if op.Kind == OpKeyRevoke {
			op.BadFrom = f.count("Rye-Bad-From")
		}
	default:
		f.fail(fault.New(fault.Malformed, "operation %q: is not known to this rye", words.Brief(string(op.Kind))))
	}
	op.checkItems(f)
}

// checkItems: a bounded list, sorted, each once, all of this namespace.
func (op *Op) checkItems(f *fields) {
	if f.err != nil || op.Keys != nil || !op.Key.IsZero() {
		return
	}
	if len(op.Items) == 0 || len(op.Items) > MaxItems {
		f.fail(fault.New(fault.Malformed, "%s of %d items: want 1 to %d", op.Kind, len(op.Items), MaxItems))
	}
	for i := range op.Items {
		e := &op.Items[i]
		if e.Ref.ID.Namespace() != op.Namespace {
			f.fail(fault.New(fault.Malformed, "%s: is not of namespace %s", words.Brief(e.Name()), op.Namespace))
		}
		if i > 0 && compareKey(&op.Items[i-1], e.Ref.Published(), e.Version) >= 0 {
			f.fail(fault.New(fault.Malformed, "%s: repeated or out of order", words.Brief(e.Name())))
		}
	}
}

// item reads one published version and what may follow about it:
//
//	Rye-Item: acme/tool/hello@1.4.0 tools/acme/hello.py sha256:… 812 SHA256:… <commit>
//	Rye-Meta: {"description":"Says hello"}
func (f *fields) item() (e Entry) {
	v := f.need("Rye-Item")
	part := strings.Split(v, " ")
	if len(part) != 6 {
		f.fail(fault.New(fault.Malformed, "trailer Rye-Item: %d fields, want 6", len(part)))
		return e
	}
	var err error
	e.Ref, e.Version, err = ParseName(part[0])
	f.fail(err)
	e.Path = part[1]
	e.Sum, err = objects.ParseDigest(part[2])
	f.fail(err)
	size, err := parseCount(part[3])
	f.fail(err)
	e.Size = int64(size)
	e.Author, err = objects.ParseFingerprint(part[4])
	f.fail(err)
	e.Commit, err = store.ParseOID(part[5])
	f.fail(err)
	if meta := f.opt("Rye-Meta"); meta != "" {
		e.Meta, err = parseMeta(meta)
		f.fail(err)
	}
	if f.err == nil {
		f.fail(e.check())
	}
	return e
}

// keys reads public keys, each followed by its proof unless the signer's own.
func (f *fields) keys() (list []KeyGrant) {
	for f.next("Rye-Key") {
		var k KeyGrant
		var err error
		k.Public, err = trust.ParsePublicKey(f.need("Rye-Key"))
		f.fail(err)
		if proof := f.opt("Rye-Proof"); proof != "" {
			k.Proof, err = base64.RawURLEncoding.Strict().DecodeString(proof)
			if err != nil || len(k.Proof) != 64 {
				f.fail(fault.New(fault.Malformed, "trailer Rye-Proof: want 86 characters of base64url"))
			}
		}
		list = append(list, k)
	}
	if f.err == nil && (len(list) == 0 || len(list) > maxKeys) {
		f.fail(fault.New(fault.Malformed, "%d keys: want 1 to %d", len(list), maxKeys))
	}
	return list
}

func (f *fields) fingerprint(key string) objects.Fingerprint {
	v := f.need(key)
	if f.err != nil {
		return objects.Fingerprint{}
	}
	fp, err := objects.ParseFingerprint(v)
	f.fail(err)
	return fp
}

// text reads a quoted text: an ASCII JSON string.
func (f *fields) text(key string, limit int) string {
	v := f.need(key)
	if f.err != nil {
		return ""
	}
	var s string
	if err := json.Unmarshal([]byte(v), &s); err != nil || string(appendQuoted(nil, s)) != v {
		f.fail(fault.New(fault.Malformed, "trailer %s: want one quoted string of ASCII", key))
		return ""
	}
	f.fail(checkText(key, s, limit))
	return s
}

// Message returns the commit message of the operation: its one spelling.
func (op *Op) Message() string {
	m := message{subject: op.Subject()}
	m.trailers = make([]trailer, 0, 10+2*len(op.Items)+2*len(op.Keys))
	m.add("Rye-Format", formatCount(FormatVersion))
	m.add("Rye-Op", string(op.Kind))
	m.add("Rye-Registry", op.Registry.String())
	m.add("Rye-Namespace", op.Namespace)
	if op.Kind != OpClaim {
		m.add("Rye-Genesis", op.Genesis.String())
	}
	m.add("Rye-Seq", formatCount(op.Seq))
	if op.Kind != OpClaim {
		m.add("Rye-Prev", op.Prev.String())
	}
	m.add("Rye-Root", formatCount(op.Root))
	m.add("Rye-State", op.State.String())
	if op.Reason != "" {
		m.add("Rye-Reason", string(appendQuoted(nil, op.Reason)))
	}
	m.addKeys(op.Keys)
	if !op.Key.IsZero() {
		m.add("Rye-Key", op.Key.String())
	}
	if op.BadFrom > 0 {
		m.add("Rye-Bad-From", formatCount(op.BadFrom))
	}
	for i := range op.Items {
		m.addItem(op.Kind, &op.Items[i])
	}
	return m.String()
}

func (m *message) addKeys(keys []KeyGrant) {
	for _, k := range keys {
		m.add("Rye-Key", k.Public.Authorized())
		if k.Proof != nil {
			m.add("Rye-Proof", base64.RawURLEncoding.EncodeToString(k.Proof))
		}
	}
}

func (m *message) addItem(kind OpKind, e *Entry) {
	if kind != OpPublish {
		m.add("Rye-Item", e.Name())
		return
	}
	m.add("Rye-Item", strings.Join([]string{e.Name(), e.Path, e.Sum.String(),
		strconv.FormatInt(e.Size, 10), e.Author.String(), e.Commit.String()}, " "))
	if meta := e.Meta.encode(); meta != "" {
		m.add("Rye-Meta", meta)
	}
}

// Subject returns the first line of the message, which makes git log read like
// a change log.
func (op *Op) Subject() string {
	switch {
	case op.Kind == OpClaim:
		return "claim " + op.Namespace
	case len(op.Items) == 1:
		return string(op.Kind) + " " + op.Items[0].Name()
	case len(op.Items) > 1:
		return fmt.Sprintf("%s %s and %d more", op.Kind, op.Items[0].Name(), len(op.Items)-1)
	case len(op.Keys) == 1:
		return string(op.Kind) + " " + op.Keys[0].Public.Fingerprint().String()
	case len(op.Keys) > 1:
		return fmt.Sprintf("%s %s and %d more", op.Kind, op.Keys[0].Public.Fingerprint(), len(op.Keys)-1)
	}
	return string(op.Kind) + " " + op.Key.String()
}

// CheckNamespace accepts one segment of an item's id, except "local", which
// belongs to everybody's own projects.
func CheckNamespace(ns string) error {
	id, err := objects.ParseID(ns)
	if err != nil || id.Namespace() != ns || ns == "local" {
		return fault.New(fault.Malformed, "namespace %q: want one segment of lower-case letters, digits, _ and -, other than local", words.Brief(ns))
	}
	return nil
}

// ProofMessage returns the bytes that the owner of a key signs to let it be
// added to a namespace. genesis is zero when the namespace is yet to be claimed.
// The proof does not name a position: adding the same key twice is refused, so
// there is nothing to replay.
func ProofMessage(registry objects.Digest, namespace string, genesis objects.Digest, key objects.Fingerprint) []byte {
	var l jsonLine
	l.digest("genesis", genesis)
	l.text("key", key.String())
	l.text("namespace", namespace)
	l.digest("registry", registry)
	return objects.PAE("application/vnd.rye.key-proof.v1+json", append(l.b, '}'))
}
