package oplog

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// Root is the state of a registry's root after an operation: its holders and the owners of its
// namespaces. A Root never changes; Apply returns a new one. The zero value is the root before its
// genesis.
type Root struct {
	ID        objects.Digest // identity of the registry: the SHA-256 of the raw genesis
	Name      string
	Claims    Claims
	Threshold int
	Tags      bool              // publishers push a tag for each version and state
	Keys      []trust.PublicKey // read-only
	Roles     uint64            // the operation that last set the keys

	Seq  uint64
	Tip  objects.Digest // of the raw commit at Seq
	At   store.OID      // its address
	Time time.Time

	grants []*Grant // sorted by namespace
}

// Grant is the root's entry for a namespace.
type Grant struct {
	Namespace  string
	Keys       []trust.PublicKey // the owners; read-only
	Genesis    objects.Digest    // the claim that the root accepts; zero for any claim by an owner
	Located    string            // the repository that holds the namespace; "" is the root's own
	Since      uint64            // the root operation that granted
	Checkpoint *Checkpoint       // the newest; nil for none
	FreshUntil time.Time         // when the next is due; zero when not stated

	file  []byte
	Sum   objects.Digest
	older *Grant
}

// Grant returns the root's present entry for a namespace, or nil.
func (r Root) Grant(namespace string) *Grant {
	if i, ok := r.find(namespace); ok {
		return r.grants[i]
	}
	return nil
}

// Namespaces returns the namespaces that the root granted, sorted.
func (r Root) Namespaces() []string {
	var names []string
	for _, g := range r.grants {
		names = append(names, g.Namespace)
	}
	return names
}

// grantAt returns the root's entry for a namespace at a position.
func (r Root) grantAt(namespace string, seq uint64) *Grant {
	g := r.Grant(namespace)
	for g != nil && g.Since > seq {
		g = g.older
	}
	return g
}

func (r Root) find(namespace string) (int, bool) {
	return slices.BinarySearchFunc(r.grants, namespace, func(g *Grant, ns string) int {
		return strings.Compare(g.Namespace, ns)
	})
}

// Admits refuses a namespace unless the newest root accepts its genesis. claimant signed that
// genesis.
func (r Root) Admits(namespace string, genesis objects.Digest, claimant trust.PublicKey) error {
	g := r.Grant(namespace)
	switch {
	case g == nil && r.Claims == ClaimsOpen:
		return nil
	case g == nil:
		return fault.New(fault.Untrusted, "namespace %s: the root of %q has not granted it to anyone", namespace, r.Name)
	case !g.Genesis.IsZero() && g.Genesis != genesis:
		return fault.New(fault.Untrusted, "namespace %s: its log begins with %s, the root names %s", namespace, genesis, g.Genesis)
	case g.Genesis.IsZero() && !slices.Contains(g.Keys, claimant):
		return fault.New(fault.Untrusted, "namespace %s: claimed by %s, which is not a key that the root granted it to", namespace, claimant.Fingerprint())
	}
	return nil
}

// Apply returns the root after an operation. It refuses an operation to which too few root keys of
// r agreed. Pure.
func (r Root) Apply(op RootOp) (Root, error) {
	next, err := r.step(op)
	if err != nil {
		return Root{}, fmt.Errorf("operation %d of the root: %w", op.Seq, err)
	}
	if got := next.Digest(); got != op.State {
		return Root{}, fault.New(fault.Integrity, "operation %d of the root: states %s, applying it gives %s", op.Seq, op.State, got)
	}
	return next, nil
}

// step is Apply without the comparison of states.
func (r Root) step(op RootOp) (Root, error) {
	if err := r.checkLink(op); err != nil {
		return Root{}, err
	}
	if err := r.checkAgreement(op); err != nil {
		return Root{}, err
	}
	next := r
	err := next.change(op)
	return next, err
}

// change applies an operation without checking it.
func (r *Root) change(op RootOp) error {
	r.Seq, r.Tip, r.At, r.Time = op.Seq, op.Sum, op.ID, op.Time
	switch op.Kind {
	case OpGenesis:
		r.ID = op.Sum
		fallthrough
	case OpRoots:
		r.Name, r.Claims, r.Threshold, r.Keys, r.Roles = op.Name, op.Claims, op.Threshold, op.Keys, op.Seq
		r.Tags = op.Tags
	case OpGrant:
		r.grant(op)
	case OpCheckpoint:
		for i := range op.Checkpoints {
			if err := r.checkpoint(&op.Checkpoints[i], op.FreshUntil); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r Root) checkLink(op RootOp) error {
	switch {
	case op.Signer.IsZero():
		return fault.New(fault.Untrusted, "is not signed")
	case op.Seq != r.Seq+1:
		return fault.New(fault.Malformed, "position %d follows %d", op.Seq, r.Seq)
	case op.Time.Before(r.Time):
		return fault.New(fault.Malformed, "dated %s, before the operation before it", op.Time.Format(TimeLayout))
	case op.Kind == OpGenesis:
		return nil
	case op.Registry != r.ID:
		return fault.New(fault.Integrity, "belongs to registry %s, not %s", op.Registry, r.ID)
	case op.Prev != r.Tip:
		return fault.New(fault.Integrity, "follows %s, not %s", op.Prev, r.Tip)
	case len(op.Parents) != 1 || op.Parents[0] != r.At:
		return fault.New(fault.Malformed, "its parent is not the operation before it")
	}
	return nil
}

// checkAgreement counts the root keys that signed or approved. A genesis is judged by its own keys.
// A key that becomes a root key must have signed too.
func (r Root) checkAgreement(op RootOp) error {
	held, threshold := r.Keys, r.Threshold
	if op.Kind == OpGenesis {
		held, threshold = op.Keys, op.Threshold
	}
	if !slices.Contains(held, op.Signer) {
		return fault.New(fault.Untrusted, "signed by %s, which is not a root key", op.Signer.Fingerprint())
	}
	if err := r.checkTerms(op); err != nil {
		return err
	}
	agreed, err := op.agreed(held)
	if err != nil {
		return err
	}
	agreed = append(agreed, op.Signer)
	n := 0
	for _, k := range agreed {
		if slices.Contains(held, k) {
			n++
		}
	}
	if n < threshold {
		return fault.New(fault.Untrusted, "%d of %d root keys agreed, %d must", n, len(held), threshold)
	}
	if op.Kind == OpGenesis {
		held = nil // all keys of a genesis are new
	}
	for _, k := range op.newcomers(held) {
		if !slices.Contains(agreed, k) {
			return fault.New(fault.Untrusted, "key %s becomes a root key without its own signature", k.Fingerprint())
		}
	}
	return nil
}

// checkTerms checks that approvals were given among these root keys and have not expired.
func (r Root) checkTerms(op RootOp) error {
	if op.Terms == (Terms{}) {
		return nil
	}
	return op.Terms.hold(r.Roles, op.Time)
}

// hold refuses approvals given among other keys, or until an earlier time. It compares with the
// time of the commit, not with a clock.
func (t Terms) hold(roles uint64, commit time.Time) error {
	if t.Roles != roles {
		return fault.New(fault.Untrusted, "approved by the keys of operation %d; the present keys are from operation %d", t.Roles, roles)
	}
	if commit.After(t.Until) {
		return fault.New(fault.Untrusted, "approved until %s, committed on %s", t.Until.Format(TimeLayout), commit.Format(TimeLayout)).
			Advise("propose it again")
	}
	return nil
}

// grant sets the owners of a namespace.
func (r *Root) grant(op RootOp) {
	g := &Grant{Namespace: op.Namespace, Keys: op.Keys, Genesis: op.Genesis, Located: op.Located, Since: op.Seq, older: r.Grant(op.Namespace)}
	if g.older != nil && !g.Genesis.IsZero() && g.Genesis == g.older.Genesis {
		g.Checkpoint, g.FreshUntil = g.older.Checkpoint, g.older.FreshUntil
	}
	r.put(g)
}

func (r *Root) checkpoint(c *Checkpoint, until time.Time) error {
	old := r.Grant(c.Namespace)
	if old == nil {
		return fault.New(fault.NotFound, "checkpoint of %s: the root has not granted it", c.Namespace)
	}
	if was := old.Checkpoint; was != nil && was.Seq == c.Seq && *was == *c && until.After(old.FreshUntil) {
		// nothing happened there; the checkpoint is repeated with a later due time
	} else if was != nil && was.Seq >= c.Seq {
		return fault.New(fault.Rollback, "checkpoint of %s at %d: the last one was at %d", c.Namespace, c.Seq, old.Checkpoint.Seq)
	}
	g := *old
	g.Checkpoint, g.FreshUntil = c, until
	r.put(&g)
	return nil
}

// put inserts or replaces a grant, on a copy of the list.
func (r *Root) put(g *Grant) {
	g.Seal()
	r.grants = slices.Clone(r.grants)
	if i, found := r.find(g.Namespace); found {
		r.grants[i] = g
	} else {
		r.grants = slices.Insert(r.grants, i, g)
	}
}

// Paths of the root's tree.
const (
	registryPath = "registry.yaml"
	readmePath   = "README.md"
)

// grantPath returns namespaces/<2 hex of sha256(namespace)>/<namespace>.yaml.
func grantPath(namespace string) string {
	sum := sha256.Sum256([]byte(namespace))
	return fmt.Sprintf("namespaces/%02x/%s.yaml", sum[0], namespace)
}

// Seal encodes the grant's file.
func (g *Grant) Seal() {
	var b bytes.Buffer
	fmt.Fprintf(&b, "format: %d\nnamespace: %s\nsince: %d\n", FormatVersion, yamlQuoted(g.Namespace), g.Since)
	writeKeys(&b, "keys", g.Keys)
	if !g.Genesis.IsZero() {
		fmt.Fprintf(&b, "genesis: %s\n", yamlQuoted(g.Genesis.String()))
	}
	if g.Located != "" {
		fmt.Fprintf(&b, "repository: %s\n", yamlQuoted(g.Located))
	}
	if c := g.Checkpoint; c != nil {
		fmt.Fprintf(&b, "checkpoint:\n  seq: %d\n  sha256: %s\n  commit: %s\n  state: %s\n",
			c.Seq, yamlQuoted(c.Sum.String()), yamlQuoted(c.ID.String()), yamlQuoted(c.State.String()))
		if !g.FreshUntil.IsZero() {
			fmt.Fprintf(&b, "  fresh_until: %s\n", yamlQuoted(g.FreshUntil.Format(TimeLayout)))
		}
	}
	g.file = b.Bytes()
	g.Sum = objects.DigestOf(g.file)
}

func (r *Root) EncodeRegistry() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "format: %d\nname: %s\nclaims: %s\nthreshold: %d\nroles: %d\n",
		FormatVersion, yamlQuoted(r.Name), yamlQuoted(string(r.Claims)), r.Threshold, r.Roles)
	if r.Tags {
		b.WriteString("tags: true\n")
	}
	writeKeys(&b, "roots", r.Keys)
	return b.Bytes()
}

func writeKeys(b *bytes.Buffer, name string, keys []trust.PublicKey) {
	fmt.Fprintf(b, "%s:\n", name)
	for _, k := range keys {
		fmt.Fprintf(b, "  - %s\n", yamlQuoted(k.Authorized()))
	}
}

// readme is fixed by the format. So it cannot carry hidden text beside the state, and a reader can
// compute the tree's id without fetching it.
const readme = `# %s

This repository is a registry of rye: directives, tools and knowledge for
agents, signed by their authors.

- ` + "`main`" + ` says who holds the registry and whose each namespace is.
- ` + "`ns/<namespace>`" + ` is that namespace's log: ` + "`git log ns/<namespace>`" + ` reads like
  a change log, and every operation is signed.
- ` + "`content/<namespace>`" + ` keeps what the log names: the items, and lists of them.


Use it with ` + "`rye registry add <url>`" + `, then ` + "`rye add <namespace>/<kind>/<name>`" + `.
Do not commit here by hand: readers refuse a log with a foreign commit. Protect
` + "`main` and `ns/**`" + ` against force pushes and deletion.
`

// Encode returns the files of the root's tree by path.
func (r Root) Encode() map[string][]byte {
	out := map[string][]byte{
		registryPath: r.EncodeRegistry(),
		readmePath:   fmt.Appendf(nil, readme, r.Name),
	}
	for _, g := range r.grants {
		out[grantPath(g.Namespace)] = g.file
	}
	return out
}

// Digest returns the SHA-256 of the tree's listing: see docs/format/registry.md.
func (r Root) Digest() objects.Digest {
	sums := make([]fileSum, 0, len(r.grants)+2)
	sums = append(sums, fileSum{readmePath, objects.DigestOf(fmt.Appendf(nil, readme, r.Name))},
		fileSum{registryPath, objects.DigestOf(r.EncodeRegistry())})
	for _, g := range r.grants {
		sums = append(sums, fileSum{grantPath(g.Namespace), g.Sum})
	}
	return objects.DigestOf(listing(sums))
}

// A fileSum is one line of a listing.
type fileSum struct {
	path string
	sum  objects.Digest
}

// listing returns lines "<64 hex>  <path>\n" sorted by path, as sha256sum prints and checks them
// for a checkout.
func listing(sums []fileSum) []byte {
	slices.SortFunc(sums, func(a, b fileSum) int { return strings.Compare(a.path, b.path) })
	b := make([]byte, 0, 90*len(sums))
	for _, s := range sums {
		b = append(b, s.sum.Hex()...)
		b = append(b, ' ', ' ')
		b = append(b, s.path...)
		b = append(b, '\n')
	}
	return b
}

// Locates reports whether the root locates any namespace at an address.
func (r Root) Locates(url string) bool {
	return slices.ContainsFunc(r.grants, func(g *Grant) bool { return g.Located == url })
}

// WithGrant returns the root as if its next operation granted a namespace to a key.
func (r Root) WithGrant(namespace string, key trust.PublicKey) Root {
	r.Seq++
	r.grant(RootOp{Seq: r.Seq, Namespace: namespace, Keys: []trust.PublicKey{key}})
	return r
}
