package oplog

import (
	"fmt"
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
	OpKeyRetire OpKind = "key-retire" // a key may sign no more; its earlier signatures stay valid
	OpKeyRevoke OpKind = "key-revoke" // a key is bad from a position on
	OpTransfer  OpKind = "transfer"   // other keys replace all active ones
	OpRedact    OpKind = "redact"     // anything -> redacted: revoked, and its bytes are removed
	OpThreshold OpKind = "threshold"  // how many keys must agree to the operations in Governs
	OpVoid      OpKind = "void"       // acknowledges a malformed operation, which is then no longer reported
)

// Bounds of one operation.
const (
	MaxItems       = 65536 // versions that one operation writes
	maxKeys        = 64
	maxRevocations = 4 * maxKeys // keys that one key-revoke names: the most that a namespace has
	MaxCheckpoints = 256
)

// KeyGrant is a public key with the proof that its owner wants it in a namespace.
type KeyGrant struct {
	Public trust.PublicKey
	Proof  []byte // see ProofMessage; nil for the key that signs the operation itself
}

// Op is one operation of a namespace's log: one parsed commit with a checked signature. Apply
// decides whether the signer may write it.
type Op struct {
	Kind      OpKind
	Registry  objects.Digest // identity of the registry
	Namespace string
	Genesis   objects.Digest // raw claim commit; zero in the claim itself
	Seq       uint64
	Prev      objects.Digest // raw previous commit; zero in the claim
	Root      uint64         // position of the root that the signer had seen
	State     Address        // the root list of the state after this operation
	Kept      store.OID      // the commit that keeps that state
	Changes   Changes        // the catalogue lines that the operation writes

	Reason   string     // deprecate, yank, revoke, redact, key-revoke
	Keys     []KeyGrant // claim, key-add, transfer
	Key      objects.Fingerprint
	BadFrom  uint64          // key-revoke: the first operation by Key that is not accepted
	DropFrom uint64          // key-revoke: the first operation by Key whose changes are dropped; 0: none
	More     []KeyRevocation // key-revoke: the keys after Key; see RevokeOp
	Void     Voided          // void

	Threshold int        // threshold; claim, transfer: 0 is one key
	Terms     Terms      // set where other keys must agree too; see Governs
	Approvals []Approval // sorted by key

	// Items lists the versions to write. A publish needs all fields that Entry.check wants, other
	// kinds need Ref and Version. The message holds only Changes.
	Items []Entry

	Envelope
}

// Voided names the malformed operation that a void acknowledges.
type Voided struct {
	Seq uint64
	Sum objects.Digest // of the raw commit
}

// Changes names the change list of an operation: the catalogue lines that it writes. The zero value
// means none.
type Changes struct {
	Count int
	First string // name of the first version
	Address
}

// Envelope holds the fields of the commit around an operation's message.
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
	*e = Envelope{CommitID(c), objects.DigestOf(c.Raw), c.Tree, c.Parents, signer, time.Unix(c.Committer.Unix, 0).UTC()}
}

// Parse reads an operation from a raw commit of a namespace branch. It is strict (fault.Malformed)
// and checks the SSHSIG signature (fault.Integrity, or fault.Untrusted without one). Encoding the
// result with Message gives the same bytes.
func Parse(raw []byte) (Op, error) { return parse(raw, true) }

// parse skips the signature unless verify is set, for commits whose digest was verified before. The
// Op then has no Signer, so Apply would refuse it.
func parse(raw []byte, verify bool) (op Op, err error) {
	if err := decodeCommit(raw, verify, &op); err != nil {
		return Op{}, err
	}
	if op.Kept.IsZero() {
		return Op{}, fault.New(fault.Malformed, "%s: names no commit for its state, so it is only a proposal", op.Label())
	}
	return op, op.checkParents()
}

// decodeCommit reads the operation in a raw commit from either kind of log.
func decodeCommit(raw []byte, verify bool, op interface {
	message
	set(*store.Commit, trust.PublicKey)
}) error {
	c, signer, err := OpenCommit(raw, verify)
	if err != nil {
		return err
	}
	if err := decodeMessage(c.Message, op); err != nil {
		return fmt.Errorf("commit %s: %w", CommitID(c), err)
	}
	op.set(c, signer)
	return nil
}

// OpenCommit parses a raw commit of a log strictly. It checks the signature if verify is set.
func OpenCommit(raw []byte, verify bool) (*store.Commit, trust.PublicKey, error) {
	c, err := store.ParseCommit(raw)
	if err != nil {
		return nil, trust.PublicKey{}, err
	}
	if c.Author != c.Committer || c.Committer.Zone != "+0000" || c.Committer.Unix < 0 || c.Committer.Unix > 1<<37 {
		return nil, trust.PublicKey{}, fault.New(fault.Malformed, "commit %s: author and committer differ, or are not in UTC", CommitID(c))
	}
	if c.Signature == "" {
		return nil, trust.PublicKey{}, fault.New(fault.Untrusted, "commit %s: is not signed", CommitID(c))
	}
	if !verify {
		return c, trust.PublicKey{}, nil
	}
	signer, err := trust.VerifySSHSIG(c.Signature, "git", c.Unsigned())
	if err != nil {
		return nil, trust.PublicKey{}, fmt.Errorf("commit %s: %w", CommitID(c), err)
	}
	return c, signer, nil
}

// CommitID returns the git id of a parsed commit.
func CommitID(c *store.Commit) store.OID {
	return store.Format(len(c.Tree.Bytes())).Hash(store.TypeCommit, c.Raw)
}

// checkParents checks that the log is one line and holds no files. All files lie on the content
// branch.
func (op *Op) checkParents() error {
	want := min(int(op.Seq-1), 1)
	if len(op.Parents) > want {
		return fault.New(fault.Fork, "%s: %d parents, want %d: a log has one line", op.Label(), len(op.Parents), want)
	}
	if len(op.Parents) < want {
		return fault.New(fault.Malformed, "%s: %d parents, want %d", op.Label(), len(op.Parents), want)
	}
	if op.Tree != emptyTree {
		return fault.New(fault.Integrity, "%s: tree %s is not empty: a log holds no files", op.Label(), op.Tree)
	}
	return nil
}

// emptyTree is the tree of every operation of a namespace.
var emptyTree = store.SHA1.Hash(store.TypeTree, nil)

// Message returns the canonical commit message of the operation.
func (op *Op) Message() string { return encodeMessage(op) }

func (op *Op) Label() string { return fmt.Sprintf("operation %d of %s", op.Seq, op.Namespace) }

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
	f.state(op)
	changes := func() {}
	switch op.Kind {
	case OpThreshold:
		count(f, "Rye-Threshold", &op.Threshold)
		f.checkThreshold(op.Threshold, 1, 4*maxKeys)
	case OpClaim, OpKeyAdd, OpTransfer:
		if op.Kind != OpKeyAdd && (op.Threshold > 1 || f.next("Rye-Threshold")) {
			count(f, "Rye-Threshold", &op.Threshold)
		}
		each(f, "Rye-Key", &op.Keys, f.grant)
		f.checkKeys(len(op.Keys))
		if op.Threshold != 0 {
			f.checkThreshold(op.Threshold, 2, len(op.Keys))
		}
	case OpPublish, OpUnyank:
		changes = func() { f.changes(op) }
	case OpDeprecate, OpYank, OpRevoke, OpRedact:
		f.text("Rye-Reason", &op.Reason, MaxReason)
		changes = func() { f.changes(op) }
	case OpKeyRetire:
		f.value("Rye-Key", fingerprint(&op.Key))
	case OpKeyRevoke:
		f.text("Rye-Reason", &op.Reason, MaxReason)
		f.revocations(op)
		if op.Changes.Count > 0 || f.next("Rye-Changes") { // absent when the key published nothing
			changes = func() { f.changes(op) }
		}
	case OpVoid:
		f.value("Rye-Void", number(&op.Void.Seq), digest(&op.Void.Sum))
		if op.Void.Seq < 2 || op.Void.Seq >= op.Seq {
			f.fail(fault.New(fault.Malformed, "trailer Rye-Void: position %d, want 2 to %d", op.Void.Seq, op.Seq-1))
		}
	default:
		f.fail(unknownOp(op.Kind))
	}
	changes()
	if Governs(op.Kind) {
		f.agreement(&op.Terms, &op.Approvals)
	}
}

// state carries the state after an operation. A proposal cannot name the commit that keeps it,
// because that commit has the time of the operation.
func (f *fields) state(op *Op) {
	parts := []codec{digest(&op.State.Sum), address(&op.State.ID), address(&op.Kept)}
	short := op.Kept.IsZero()
	if !f.writing {
		short = f.next("Rye-State") && strings.Count(f.list[0].value, " ") == 1
	}
	if short {
		parts = parts[:2]
	}
	f.value("Rye-State", parts...)
}

// checkThreshold refuses a threshold outside least to most.
func (f *fields) checkThreshold(n, least, most int) {
	if n < least || n > most {
		f.fail(fault.New(fault.Malformed, "trailer Rye-Threshold: %d, want %d to %d", n, least, most))
	}
}

// changes carries the change list:
//
//	Rye-Changes: 2 acme/tool/hello@1.4.0 sha256:… <git id>
func (f *fields) changes(op *Op) {
	c := &op.Changes
	f.value("Rye-Changes", number(&c.Count), word(&c.First), digest(&c.Sum), address(&c.ID))
	if f.writing || f.err != nil {
		return
	}
	ref, _, err := ParseName(c.First)
	switch {
	case err != nil:
		f.fail(err)
	case ref.ID.Namespace() != op.Namespace:
		f.fail(fault.New(fault.Malformed, "%s: is not of namespace %s", words.Brief(c.First), op.Namespace))
	case c.Count < 1 || c.Count > MaxItems:
		f.fail(fault.New(fault.Malformed, "%s of %d items: want 1 to %d", op.Kind, c.Count, MaxItems))
	}
}

func unknownOp(kind OpKind) error {
	return fault.New(fault.Malformed, "operation %q: is not known to this rye", words.Brief(string(kind)))
}

func newerFormat(v uint64) error {
	return fault.New(fault.Malformed, "format %d: this rye reads format %d", v, FormatVersion).Advise("a newer rye may read it")
}

// grant carries a public key and its proof. The signer's own key has no proof.
func (f *fields) grant(k *KeyGrant) {
	f.value("Rye-Key", publicKey(&k.Public))
	if k.Proof != nil || f.next("Rye-Proof") {
		f.value("Rye-Proof", signature(&k.Proof, "trailer Rye-Proof: want 86 characters of base64url"))
	}
}

// revocations carries the keys of a key-revoke, sorted, each once.
func (f *fields) revocations(op *Op) {
	one := func(k *KeyRevocation) {
		f.value("Rye-Key", fingerprint(&k.Key))
		count(f, "Rye-Bad-From", &k.BadFrom)
		if k.DropFrom > 0 || f.next("Rye-Drop-From") {
			count(f, "Rye-Drop-From", &k.DropFrom)
		}
	}
	first := KeyRevocation{op.Key, op.BadFrom, op.DropFrom}
	one(&first)
	op.Key, op.BadFrom, op.DropFrom = first.Key, first.BadFrom, first.DropFrom
	each(f, "Rye-Key", &op.More, one)
	before := first
	for i, k := range op.More {
		if compareRevoked(before, k) >= 0 || i+1 >= maxRevocations {
			f.fail(fault.New(fault.Malformed, "key %s: repeated, out of order or one too many", k.Key))
			return
		}
		before = k
	}
}

// Subject returns the first line of the message, so that git log reads like a change log.
func (op *Op) Subject() string {
	switch {
	case op.Kind == OpClaim:
		return "claim " + op.Namespace
	case op.Kind == OpThreshold:
		return fmt.Sprintf("threshold %d", op.Threshold)
	case op.Kind == OpVoid:
		return fmt.Sprintf("void %d", op.Void.Seq)
	case len(op.More) > 0:
		return fmt.Sprintf("%s %s and %d more", op.Kind, op.Key, len(op.More))
	case op.Kind == OpKeyRetire || op.Kind == OpKeyRevoke:
		return string(op.Kind) + " " + op.Key.String()
	case op.Changes.Count == 1:
		return string(op.Kind) + " " + op.Changes.First
	case op.Changes.Count > 1:
		return fmt.Sprintf("%s %s and %d more", op.Kind, op.Changes.First, op.Changes.Count-1)
	case len(op.Keys) == 1:
		return string(op.Kind) + " " + op.Keys[0].Public.Fingerprint().String()
	case len(op.Keys) > 1:
		return fmt.Sprintf("%s %s and %d more", op.Kind, op.Keys[0].Public.Fingerprint(), len(op.Keys)-1)
	}
	return string(op.Kind)
}

// CheckNamespace accepts one segment of an item's id, except "local", which is reserved for
// everyone's own projects.
func CheckNamespace(ns string) error {
	id, err := objects.ParseID(ns)
	if err != nil || id.Namespace() != ns || ns == "local" {
		return fault.New(fault.Malformed, "namespace %q: want one segment of lower-case letters, digits, _ and -, other than local", words.Brief(ns))
	}
	return nil
}

// ProofMessage returns the bytes that the owner of a key signs to let the key join a namespace.
// genesis is zero before the claim. The proof names no position: a key cannot be added twice, so it
// cannot be replayed.
func ProofMessage(registry objects.Digest, namespace string, genesis objects.Digest, key objects.Fingerprint) []byte {
	var l jsonLine
	l.digest("genesis", genesis)
	l.text("key", key.String())
	l.text("namespace", namespace)
	l.digest("registry", registry)
	return objects.PAE("application/vnd.rye.key-proof.v1+json", append(l.b, '}'))
}

// ParseChecked is Parse for an operation whose signature was checked before.
func ParseChecked(raw []byte) (Op, error) { return parse(raw, false) }
