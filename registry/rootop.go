package registry

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// The operations on the root of a registry.
const (
	OpGenesis    OpKind = "genesis"    // the first; its raw bytes are the registry's identity
	OpGrant      OpKind = "grant"      // says whose a namespace is
	OpRoots      OpKind = "roots"      // a new set of root keys, and who may claim
	OpCheckpoint OpKind = "checkpoint" // vouches for tips of namespaces
)

// Claims says who may claim a namespace that the root does not name.
type Claims string

// The rules for claims.
const (
	ClaimsGranted Claims = "granted" // nobody: the root grants every namespace
	ClaimsOpen    Claims = "open"    // anybody; readers trust on first use
)

// Approval is the agreement of one more key to an operation of the root.
type Approval struct {
	Key objects.Fingerprint
	Sig []byte // over RootOp.ApprovalMessage
}

// Checkpoint is the root's word that a namespace's log passes through a commit.
type Checkpoint struct {
	Namespace string
	Seq       uint64
	Sum       objects.Digest // of the raw commit
	ID        store.OID      // its address
}

// RootOp is one operation of the root's log: one commit of refs/heads/main.
type RootOp struct {
	Kind     OpKind
	Registry objects.Digest // zero in the genesis
	Seq      uint64
	Prev     objects.Digest // zero in the genesis
	State    objects.Digest

	Name      string            // genesis, roots
	Claims    Claims            // genesis, roots
	Threshold int               // genesis, roots: how many root keys must agree
	Keys      []trust.PublicKey // genesis, roots: the root keys; grant: the owners
	Namespace string            // grant
	Genesis   objects.Digest    // grant: the claim that is meant; zero before there is one

	Checkpoints []Checkpoint
	Approvals   []Approval // sorted by key

	Envelope
}

// ParseRootOp reads an operation from a raw commit of the root branch, as
// strictly as ParseOp.
func ParseRootOp(raw []byte) (RootOp, error) { return parseRootOp(raw, true) }

func parseRootOp(raw []byte, verify bool) (RootOp, error) {
	c, signer, err := openCommit(raw, verify)
	if err != nil {
		return RootOp{}, err
	}
	op, err := parseRootMessage(c.Message)
	if err != nil {
		return RootOp{}, fmt.Errorf("commit %s: %w", commitID(c), err)
	}
	op.Envelope = envelope(c, signer)
	if want := min(int(op.Seq-1), 1); len(op.Parents) != want {
		return op, fault.New(fault.Malformed, "operation %d of the root: %d parents, want %d", op.Seq, len(op.Parents), want)
	}
	return op, nil
}

func parseRootMessage(text string) (RootOp, error) {
	m, err := parseMessage(text)
	if err != nil {
		return RootOp{}, err
	}
	f := &fields{list: m.trailers}
	var op RootOp
	op.parseHead(f)
	op.parseBody(f)
	op.parseApprovals(f)
	if err := f.end(); err != nil {
		return RootOp{}, err
	}
	if op.Message() != text {
		return RootOp{}, fault.New(fault.Malformed, "operation %d of the root: message is not in its one spelling", op.Seq)
	}
	return op, nil
}

func (op *RootOp) parseHead(f *fields) {
	if v := f.count("Rye-Format"); f.err == nil && v != FormatVersion {
		f.fail(newerFormat(v))
	}
	op.Kind = OpKind(f.need("Rye-Op"))
	first := op.Kind == OpGenesis
	if !first {
		op.Registry = f.digest("Rye-Registry")
	}
	op.Seq = f.count("Rye-Seq")
	if f.err == nil && (op.Seq == 0 || (op.Seq == 1) != first) {
		f.fail(fault.New(fault.Malformed, "%s at position %d: a genesis is the first operation, and only that", words.Brief(string(op.Kind)), op.Seq))
	}
	if !first {
		op.Prev = f.digest("Rye-Prev")
	}
	op.State = f.digest("Rye-State")
}

func (op *RootOp) parseBody(f *fields) {
	switch op.Kind {
	case OpGenesis, OpRoots:
		op.Name = f.text("Rye-Name", maxName)
		op.Claims = Claims(f.need("Rye-Claims"))
		op.Threshold = int(f.count("Rye-Threshold"))
		op.Keys = f.publicKeys()
		if f.err == nil {
			f.fail(checkRoots(op.Claims, op.Threshold, len(op.Keys)))
		}
	case OpGrant:
		op.Namespace = f.need("Rye-Namespace")
		if f.err == nil {
			f.fail(CheckNamespace(op.Namespace))
		}
		if f.next("Rye-Genesis") {
			op.Genesis = f.digest("Rye-Genesis")
		}
		op.Keys = f.publicKeys()
	case OpCheckpoint:
		for f.next("Rye-Checkpoint") {
			op.Checkpoints = append(op.Checkpoints, f.checkpoint())
		}
		for i := 1; i < len(op.Checkpoints); i++ {
			if op.Checkpoints[i-1].Namespace >= op.Checkpoints[i].Namespace {
				f.fail(fault.New(fault.Malformed, "checkpoint of %s: repeated or out of order", words.Brief(op.Checkpoints[i].Namespace)))
			}
		}
		if n := len(op.Checkpoints); f.err == nil && (n == 0 || n > MaxItems) {
			f.fail(fault.New(fault.Malformed, "%d checkpoints: want 1 to %d", n, MaxItems))
		}
	default:
		f.fail(fault.New(fault.Malformed, "operation %q: is not known to this rye", words.Brief(string(op.Kind))))
	}
}

func checkRoots(c Claims, threshold, keys int) error {
	if c != ClaimsGranted && c != ClaimsOpen {
		return fault.New(fault.Malformed, "claims %q: want granted or open", words.Brief(string(c)))
	}
	if threshold < 1 || threshold > keys {
		return fault.New(fault.Malformed, "threshold %d of %d root keys", threshold, keys)
	}
	return nil
}

// publicKeys reads distinct keys.
func (f *fields) publicKeys() (list []trust.PublicKey) {
	for f.next("Rye-Key") {
		k, err := trust.ParsePublicKey(f.need("Rye-Key"))
		f.fail(err)
		for _, o := range list {
			if o == k {
				f.fail(fault.New(fault.Malformed, "key %s: listed twice", k.Fingerprint()))
			}
		}
		list = append(list, k)
	}
	if f.err == nil && (len(list) == 0 || len(list) > maxKeys) {
		f.fail(fault.New(fault.Malformed, "%d keys: want 1 to %d", len(list), maxKeys))
	}
	return list
}

// checkpoint reads "acme 120 sha256:… <commit>".
func (f *fields) checkpoint() (c Checkpoint) {
	part := strings.Split(f.need("Rye-Checkpoint"), " ")
	if len(part) != 4 {
		f.fail(fault.New(fault.Malformed, "trailer Rye-Checkpoint: %d fields, want 4", len(part)))
		return c
	}
	var err error
	c.Namespace = part[0]
	f.fail(CheckNamespace(c.Namespace))
	c.Seq, err = parseCount(part[1])
	f.fail(err)
	c.Sum, err = objects.ParseDigest(part[2])
	f.fail(err)
	c.ID, err = store.ParseOID(part[3])
	f.fail(err)
	if c.Seq == 0 {
		f.fail(fault.New(fault.Malformed, "trailer Rye-Checkpoint: position 0"))
	}
	return c
}

func (op *RootOp) parseApprovals(f *fields) {
	for f.next("Rye-Approval") {
		fp, b64, ok := strings.Cut(f.need("Rye-Approval"), " ")
		var a Approval
		var err error
		a.Key, err = objects.ParseFingerprint(fp)
		f.fail(err)
		a.Sig, err = base64.RawURLEncoding.Strict().DecodeString(b64)
		if !ok || err != nil || len(a.Sig) != 64 {
			f.fail(fault.New(fault.Malformed, "trailer Rye-Approval: want a fingerprint and 86 characters of base64url"))
		}
		if n := len(op.Approvals); n > 0 && op.Approvals[n-1].Key.String() >= a.Key.String() || n >= maxKeys {
			f.fail(fault.New(fault.Malformed, "approval by %s: repeated, out of order or one too many", a.Key))
		}
		op.Approvals = append(op.Approvals, a)
	}
}

// Message returns the commit message of the operation: its one spelling.
func (op *RootOp) Message() string { return op.message(op.Approvals) }

// ApprovalMessage returns the bytes that a further key signs to approve the
// operation. They bind the registry, the position, the operation before and the
// state after, so an approval is good for this one operation only.
func (op *RootOp) ApprovalMessage() []byte {
	return objects.PAE("application/vnd.rye.root-approval.v1", []byte(op.message(nil)))
}

func (op *RootOp) message(approvals []Approval) string {
	m := message{subject: op.Subject()}
	m.add("Rye-Format", formatCount(FormatVersion))
	m.add("Rye-Op", string(op.Kind))
	if op.Kind != OpGenesis {
		m.add("Rye-Registry", op.Registry.String())
	}
	m.add("Rye-Seq", formatCount(op.Seq))
	if op.Kind != OpGenesis {
		m.add("Rye-Prev", op.Prev.String())
	}
	m.add("Rye-State", op.State.String())
	switch op.Kind {
	case OpGenesis, OpRoots:
		m.add("Rye-Name", string(appendQuoted(nil, op.Name)))
		m.add("Rye-Claims", string(op.Claims))
		m.add("Rye-Threshold", formatCount(uint64(op.Threshold)))
	case OpGrant:
		m.add("Rye-Namespace", op.Namespace)
		if !op.Genesis.IsZero() {
			m.add("Rye-Genesis", op.Genesis.String())
		}
	}
	for _, k := range op.Keys {
		m.add("Rye-Key", k.Authorized())
	}
	for _, c := range op.Checkpoints {
		m.add("Rye-Checkpoint", fmt.Sprintf("%s %d %s %s", c.Namespace, c.Seq, c.Sum, c.ID))
	}
	for _, a := range approvals {
		m.add("Rye-Approval", a.Key.String()+" "+base64.RawURLEncoding.EncodeToString(a.Sig))
	}
	return m.String()
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
