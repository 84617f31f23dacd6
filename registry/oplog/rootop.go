package oplog

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// The operations on the root of a registry.
const (
	OpGenesis    OpKind = "genesis"    // the first; its raw bytes are the registry's identity
	OpGrant      OpKind = "grant"      // sets the owners of a namespace
	OpRoots      OpKind = "roots"      // sets the root keys, the threshold and who may claim
	OpCheckpoint OpKind = "checkpoint" // confirms tips of namespaces
)

// Claims says who may claim a namespace that the root does not name.
type Claims string

// The rules for claims.
const (
	ClaimsGranted Claims = "granted" // no one: the root grants every namespace
	ClaimsOpen    Claims = "open"    // anyone; readers trust on first use
)

// Nonce makes a registry unique: two registries that one key makes in one second under one name get
// different identities.
type Nonce [16]byte

// nonce is the codec of 32 lower-case hexadecimal digits.
func nonce(n *Nonce) codec {
	return codec{func() string { return hex.EncodeToString(n[:]) }, func(s string) error {
		b, err := hex.DecodeString(s)
		if err != nil || len(b) != len(n) {
			return fault.New(fault.Malformed, "trailer Rye-Nonce: want 32 hexadecimal digits")
		}
		copy(n[:], b)
		return nil
	}}
}

// yes is the codec of a flag: "yes", or left out.
func yes(b *bool) codec {
	return codec{func() string { return "yes" }, func(s string) error {
		if *b = s == "yes"; !*b {
			return fault.New(fault.Malformed, "trailer: %q, want yes", words.Brief(s))
		}
		return nil
	}}
}

// Approval is one more key's agreement to an operation.
type Approval struct {
	Key objects.Fingerprint
	Sig []byte // over the operation's ApprovalMessage
}

// Terms limit approvals. The zero value means none.
type Terms struct {
	Roles uint64    // the operation that last set the keys that may agree; 0 in a genesis
	Until time.Time // latest time of the commit; UTC, whole seconds
}

// TermsFor is how long a proposal may wait for approvals.
const TermsFor = 30 * 24 * time.Hour

// Checkpoint is the root's statement that a namespace's log passes through a commit.
type Checkpoint struct {
	Namespace string
	Seq       uint64
	Sum       objects.Digest // of the raw commit
	ID        store.OID      // its address
	State     objects.Digest // root list of the state after it
}

// RootOp is one operation of the root's log: one commit of refs/heads/main.
type RootOp struct {
	Kind     OpKind
	Registry objects.Digest // zero in the genesis
	Seq      uint64
	Prev     objects.Digest // zero in the genesis
	State    objects.Digest

	Nonce     Nonce             // genesis
	Name      string            // genesis, roots
	Claims    Claims            // genesis, roots
	Threshold int               // genesis, roots: how many root keys must agree
	Tags      bool              // genesis, roots: publishers push a tag for each version and state
	Keys      []trust.PublicKey // genesis, roots: the root keys; grant: the owners
	Namespace string            // grant
	Genesis   objects.Digest    // grant: the claim that the root accepts; zero before there is one
	Located   string            // grant: the repository that holds the namespace; "" is this one

	Checkpoints []Checkpoint
	FreshUntil  time.Time // checkpoint: when the next is due, UTC, whole seconds; zero when not stated
	Terms       Terms
	Approvals   []Approval // sorted by key

	Envelope
}

// ParseRoot reads an operation from a raw commit of the root branch, as strictly as Parse.
func ParseRoot(raw []byte) (RootOp, error) { return parseRoot(raw, true) }

func parseRoot(raw []byte, verify bool) (op RootOp, err error) {
	if err := decodeCommit(raw, verify, &op); err != nil {
		return RootOp{}, err
	}
	if want := min(int(op.Seq-1), 1); len(op.Parents) != want {
		return op, fault.New(fault.Malformed, "%s: %d parents, want %d", op.Label(), len(op.Parents), want)
	}
	return op, nil
}

// ParseProposal reads the message of a proposed operation.
func ParseProposal(message string) (op RootOp, err error) {
	if err := decodeMessage(message, &op); err != nil {
		return RootOp{}, err
	}
	return op, nil
}

// Message returns the canonical commit message of the operation.
func (op *RootOp) Message() string { return encodeMessage(op) }

// ApprovalMessage returns the bytes that another key signs to approve the operation. They bind the
// registry, the position, the previous operation and the next state, so an approval is good for
// this one operation only.
func (op *RootOp) ApprovalMessage() []byte {
	plain := *op
	plain.Approvals = nil
	return objects.PAE("application/vnd.rye.root-approval.v1", []byte(plain.Message()))
}

func (op *RootOp) Label() string { return fmt.Sprintf("operation %d of the root", op.Seq) }

func (op *RootOp) trailers(f *fields) {
	f.format()
	f.value("Rye-Op", word(&op.Kind))
	first := op.Kind == OpGenesis
	if !first {
		f.value("Rye-Registry", digest(&op.Registry))
	}
	f.position(&op.Seq, op.Kind, OpGenesis)
	if !first {
		f.value("Rye-Prev", digest(&op.Prev))
	}
	f.value("Rye-State", digest(&op.State))
	if first {
		f.value("Rye-Nonce", nonce(&op.Nonce))
	}
	switch op.Kind {
	case OpGenesis, OpRoots:
		f.text("Rye-Name", &op.Name, MaxName)
		f.value("Rye-Claims", word(&op.Claims))
		count(f, "Rye-Threshold", &op.Threshold)
		if op.Tags || f.next("Rye-Tags") {
			f.value("Rye-Tags", yes(&op.Tags))
		}
		f.publicKeys(&op.Keys)
		f.fail(CheckRoots(op.Claims, op.Threshold, len(op.Keys)))
	case OpGrant:
		f.value("Rye-Namespace", namespace(&op.Namespace))
		if !op.Genesis.IsZero() || f.next("Rye-Genesis") {
			f.value("Rye-Genesis", digest(&op.Genesis))
		}
		if op.Located != "" || f.next("Rye-Repository") {
			f.value("Rye-Repository", repository(&op.Located))
		}
		f.publicKeys(&op.Keys)
	case OpCheckpoint:
		if !op.FreshUntil.IsZero() || f.next("Rye-Fresh-Until") {
			f.value("Rye-Fresh-Until", moment(&op.FreshUntil))
		}
		each(f, "Rye-Checkpoint", &op.Checkpoints, f.checkpoint)
		op.checkCheckpoints(f)
	default:
		f.fail(unknownOp(op.Kind))
	}
	f.agreement(&op.Terms, &op.Approvals)
}

// agreement carries the terms and the approvals by other keys: a bounded list, sorted by key, each
// once.
func (f *fields) agreement(terms *Terms, list *[]Approval) {
	if *terms != (Terms{}) || f.next("Rye-Terms") {
		f.value("Rye-Terms", number(&terms.Roles), moment(&terms.Until))
	}
	each(f, "Rye-Approval", list, func(a *Approval) { f.value("Rye-Approval", approval(a)) })
	for i, a := range *list {
		if i > 0 && (*list)[i-1].Key.String() >= a.Key.String() || i >= maxKeys {
			f.fail(fault.New(fault.Malformed, "approval by %s: repeated, out of order or one too many", a.Key))
		}
	}
	if len(*list) > 0 && *terms == (Terms{}) {
		f.fail(fault.New(fault.Malformed, "trailers: approvals without Rye-Terms"))
	}
}

func CheckRoots(c Claims, threshold, keys int) error {
	if c != ClaimsGranted && c != ClaimsOpen {
		return fault.New(fault.Malformed, "claims %q: want granted or open", words.Brief(string(c)))
	}
	if threshold < 1 || threshold > keys {
		return fault.New(fault.Malformed, "threshold %d of %d root keys", threshold, keys)
	}
	return nil
}

// publicKeys carries distinct keys.
func (f *fields) publicKeys(list *[]trust.PublicKey) {
	each(f, "Rye-Key", list, func(k *trust.PublicKey) {
		f.value("Rye-Key", publicKey(k))
		if !f.writing && slices.Contains((*list)[:len(*list)-1], *k) {
			f.fail(fault.New(fault.Malformed, "key %s: listed twice", k.Fingerprint()))
		}
	})
	f.checkKeys(len(*list))
}

// checkpoint carries "acme 120 sha256:… <commit> sha256:…".
func (f *fields) checkpoint(c *Checkpoint) {
	f.value("Rye-Checkpoint", namespace(&c.Namespace), number(&c.Seq), digest(&c.Sum), address(&c.ID), digest(&c.State))
	if c.Seq == 0 {
		f.fail(fault.New(fault.Malformed, "trailer Rye-Checkpoint: position 0"))
	}
}

// checkCheckpoints wants a bounded list, sorted, each namespace once.
func (op *RootOp) checkCheckpoints(f *fields) {
	list := op.Checkpoints
	for i := 1; i < len(list); i++ {
		if list[i-1].Namespace >= list[i].Namespace {
			f.fail(fault.New(fault.Malformed, "checkpoint of %s: repeated or out of order", words.Brief(list[i].Namespace)))
		}
	}
	if len(list) == 0 || len(list) > MaxCheckpoints {
		f.fail(fault.New(fault.Malformed, "%d checkpoints: want 1 to %d", len(list), MaxCheckpoints))
	}
}

// approval is the codec of "SHA256:… <signature>".
func approval(a *Approval) codec {
	key, sig := fingerprint(&a.Key), signature(&a.Sig, "trailer Rye-Approval: want a fingerprint and 86 characters of base64url")
	return codec{func() string { return key.text() + " " + sig.text() }, func(s string) error {
		fp, b64, _ := strings.Cut(s, " ")
		if err := key.read(fp); err != nil {
			return err
		}
		return sig.read(b64)
	}}
}

// Subject returns the first line of the message.
func (op *RootOp) Subject() string {
	switch op.Kind {
	case OpGrant:
		return "grant " + op.Namespace
	case OpCheckpoint:
		if n := len(op.Checkpoints); n != 1 {
			return fmt.Sprintf("checkpoint of %d namespaces", n)
		}
		return "checkpoint of " + op.Checkpoints[0].Namespace
	}
	return string(op.Kind)
}
