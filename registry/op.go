package registry

import (
	"fmt"
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

// set takes the envelope from a commit.
func (e *Envelope) set(c *store.Commit, signer trust.PublicKey) {
	*e = Envelope{commitID(c), objects.DigestOf(c.Raw), c.Tree, c.Parents, signer, time.Unix(c.Committer.Unix, 0).UTC()}
}

// ParseOp reads an operation from a raw commit of a namespace branch. It is
// strict (fault.Malformed), and checks the SSHSIG signature (fault.Integrity, or
// fault.Untrusted when there is none). ParseOp then Message gives the same bytes.
func ParseOp(raw []byte) (Op, error) { return parseOp(raw, true) }

// parseOp leaves the signature unread when the commit's digest was verified
// before: then the Op has no Signer, and Apply would refuse it.
func parseOp(raw []byte, verify bool) (op Op, err error) {
	if err := decodeCommit(raw, verify, &op); err != nil {
		return Op{}, err
	}
	return op, op.checkParents()
}

// decodeCommit reads the operation of a raw commit of either kind of log.
func decodeCommit(raw []byte, verify bool, op interface {
	message
	set(*store.Commit, trust.PublicKey)
}) error {
	c, signer, err := openCommit(raw, verify)
	if err != nil {
		return err
	}
	if err := decodeMessage(c.Message, op); err != nil {
		return fmt.Errorf("commit %s: %w", commitID(c), err)
	}
	op.set(c, signer)
	return nil
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
	want := min(int(op.Seq-1), 1)
	items := op.Items
	if op.Kind != OpPublish {
		items = nil
	}
	if len(op.Parents) != want+len(items) {
		return fault.New(fault.Malformed, "%s: %d parents, want %d", op.label(), len(op.Parents), want+len(items))
	}
	for i := range items {
		if op.Parents[want+i] != items[i].Commit {
			return fault.New(fault.Malformed, "%s: parent %d is not the content of %s", op.label(), want+i+1, items[i].Name())
		}
	}
	return nil
}

// Message returns the commit message of the operation: its one spelling.
func (op *Op) Message() string { return encodeMessage(op) }

func (op *Op) label() string { return fmt.Sprintf("operation %d of %s", op.Seq, op.Namespace) }

func (op *Op) trailers(f *fields) {
	f.format()
	f.value("Rye-Op", word(&op.Kind))
	f.value("Rye-Registry", digest(&op.Registry))
	f.value("Rye-Namespace", namespace(&op.Namespace))
	first := op.Kind == OpClaim
	if !first {
		f.value("Rye-Genesis", digest(&op.Genesis))
	}
	f.position(&op.Seq, op.Kind, OpClaim)
	if !first {
		f.value("Rye-Prev", digest(&op.Prev))
	}
	count(f, "Rye-Root", &op.Root)
	f.value("Rye-State", digest(&op.State))
	switch op.Kind {
	case OpClaim, OpKeyAdd:
		each(f, "Rye-Key", &op.Keys, f.grant)
		f.checkKeys(len(op.Keys))
	case OpPublish:
		each(f, "Rye-Item", &op.Items, f.item)
		op.checkItems(f)
	case OpDeprecate, OpYank, OpRevoke, OpUnyank:
		if op.Kind != OpUnyank {
			f.text("Rye-Reason", &op.Reason, MaxReason)
		}
		each(f, "Rye-Item", &op.Items, func(e *Entry) { f.value("Rye-Item", named(e)) })
		op.checkItems(f)
	case OpKeyRetire:
		f.value("Rye-Key", fingerprint(&op.Key))
	case OpKeyRevoke:
		f.text("Rye-Reason", &op.Reason, MaxReason)
		f.value("Rye-Key", fingerprint(&op.Key))
		count(f, "Rye-Bad-From", &op.BadFrom)
	default:
		f.fail(unknownOp(op.Kind))
	}
}

func unknownOp(kind OpKind) error {
	return fault.New(fault.Malformed, "operation %q: is not known to this rye", words.Brief(string(kind)))
}

func newerFormat(v uint64) error {
	return fault.New(fault.Malformed, "format %d: this rye reads format %d", v, FormatVersion).Advise("a newer rye may read it")
}

// checkItems: a bounded list, sorted, each once, all of this namespace.
func (op *Op) checkItems(f *fields) {
	if f.writing || f.err != nil {
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

// named is the codec of an entry's name.
func named(e *Entry) codec {
	return codec{e.Name, func(s string) (err error) {
		e.Ref, e.Version, err = ParseName(s)
		return err
	}}
}

// item carries one published version and what may follow about it:
//
//	Rye-Item: acme/tool/hello@1.4.0 tools/acme/hello.py sha256:… 812 SHA256:… <commit>
//	Rye-Meta: {"description":"Says hello"}
func (f *fields) item(e *Entry) {
	f.value("Rye-Item", named(e), word(&e.Path), digest(&e.Sum), number(&e.Size), fingerprint(&e.Author), address(&e.Commit))
	meta := e.Meta.encode()
	if meta != "" || f.next("Rye-Meta") {
		f.value("Rye-Meta", codec{func() string { return meta }, func(s string) (err error) {
			e.Meta, err = parseMeta(s)
			return err
		}})
	}
	if !f.writing && f.err == nil {
		f.fail(e.check())
	}
}

// grant carries a public key and its proof, unless it is the signer's own.
func (f *fields) grant(k *KeyGrant) {
	f.value("Rye-Key", publicKey(&k.Public))
	if k.Proof != nil || f.next("Rye-Proof") {
		f.value("Rye-Proof", signature(&k.Proof, "trailer Rye-Proof: want 86 characters of base64url"))
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
