package oplog

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// testKey is a signer with a key derived from its name, so that failures repeat.
type testKey struct {
	priv ed25519.PrivateKey
	pub  trust.PublicKey
}

func newKey(name string) *testKey {
	seed := sha256.Sum256([]byte("test key " + name))
	k := &testKey{priv: ed25519.NewKeyFromSeed(seed[:])}
	pub, err := trust.PublicKeyFromBytes(k.priv.Public().(ed25519.PublicKey))
	if err != nil {
		panic(err)
	}
	k.pub = pub
	return k
}

func (k *testKey) Public() trust.PublicKey { return k.pub }

func (k *testKey) Sign(_ context.Context, msg []byte) ([]byte, error) {
	return ed25519.Sign(k.priv, msg), nil
}

func (k *testKey) fp() objects.Fingerprint { return k.pub.Fingerprint() }

var testTime = time.Date(2025, 1, 2, 12, 0, 0, 0, time.UTC)

func penOf(k *testKey) Pen {
	return Pen{Signer: k, Who: store.Ident{Name: "Ada", Email: "ada@example.org"}, Now: testTime, Format: store.SHA1}
}

// testEntry is a version as a publisher gives it to an operation.
func testEntry(author *testKey, name, body string) Entry {
	ref, version, err := ParseName(name)
	if err != nil {
		panic(err)
	}
	sum := objects.DigestOf([]byte(body))
	return Entry{Ref: ref, Version: version, Path: ref.Path(".md"), Sum: sum, Size: int64(len(body)),
		Author: author.fp(), Commit: store.SHA1.Hash(store.TypeBlob, []byte(name+body))}
}

// rig is a registry in memory: a root and one namespace.
type rig struct {
	t     testing.TB
	root  Root
	roots [][]byte
	s     State
	raws  [][]byte
	lists [][]byte // change lists of raws
}

func newRig(t testing.TB, claims Claims, owners ...*testKey) *rig {
	t.Helper()
	r := &rig{t: t}
	admin := newKey("admin")
	r.rootOp(admin, RootOp{Kind: OpGenesis, Name: "Test", Claims: claims, Threshold: 1, Keys: []trust.PublicKey{admin.pub}})
	if len(owners) > 0 {
		var keys []trust.PublicKey
		for _, o := range owners {
			keys = append(keys, o.pub)
		}
		r.rootOp(admin, RootOp{Kind: OpGrant, Namespace: "acme", Keys: keys})
	}
	r.s = NewState(r.root, "acme")
	return r
}

func (r *rig) rootOp(by *testKey, op RootOp) {
	r.t.Helper()
	op, err := penOf(by).RootOperation(r.root, op)
	if err != nil {
		r.t.Fatal(err)
	}
	raw, next, err := penOf(by).SealRoot(context.Background(), r.root, op)
	if err != nil {
		r.t.Fatal(err)
	}
	r.root, r.roots = next, append(r.roots, raw)
	r.s = r.s.WithRoot(next)
}

func (r *rig) try(by *testKey, op Op) error {
	w, err := penOf(by).Operation(context.Background(), r.s, op)
	if err == nil {
		r.s, r.raws, r.lists = w.After, append(r.raws, w.Raw), append(r.lists, w.Changes)
	}
	return err
}

func (r *rig) do(by *testKey, op Op) {
	r.t.Helper()
	if err := r.try(by, op); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) claim(by *testKey) {
	r.t.Helper()
	r.do(by, Op{Kind: OpClaim, Keys: []KeyGrant{{Public: by.pub}}})
}

func (r *rig) publish(by *testKey, names ...string) {
	r.t.Helper()
	op := Op{Kind: OpPublish}
	for _, n := range names {
		op.Items = append(op.Items, testEntry(by, n, "body of "+n))
	}
	r.do(by, op)
}

// replay reads the log anew, as a reader that knows nothing does.
func (r *rig) replay() (State, error) {
	s := NewState(r.root, "acme")
	for i, raw := range r.raws {
		op, err := Parse(raw)
		if err != nil {
			return s, err
		}
		if s, err = ApplyAll(s, op, r.lists[i]); err != nil {
			return s, err
		}
	}
	return s, nil
}

func wantCode(t testing.TB, err error, want fault.Code) {
	t.Helper()
	if got := fault.CodeOf(err); got != want {
		t.Errorf("code = %q, want %q (%v)", got, want, err)
	}
}

// TestLongestNames: what may be published may be deprecated, all at once.
func TestLongestNames(t *testing.T) {
	ada := newKey("ada")
	r := newRig(t, ClaimsGranted, ada)
	r.claim(ada)
	id := "acme/directive/" + strings.Repeat("a", 100) + "/" + strings.Repeat("b", 100) + "/"
	id += strings.Repeat("c", objects.MaxIDLength+len("directive/")-len(id))
	var names []string
	for i := range 11 {
		names = append(names, fmt.Sprintf("%s@1.0.0-%sx%02d", id, strings.Repeat("x", 128-len("1.0.0-x00")), i))
	}
	r.publish(ada, names...)
	items, err := NamedEntries(names)
	if err != nil {
		t.Fatal(err)
	}
	r.do(ada, Op{Kind: OpDeprecate, Items: items, Reason: Plain(strings.Repeat("\U0001f600", MaxReason/4), MaxReason)})
}

func TestLogLife(t *testing.T) {
	ada, bob := newKey("ada"), newKey("bob")
	r := newRig(t, ClaimsGranted, ada)
	r.claim(ada)
	r.publish(ada, "acme/directive/hi@1.0.0", "acme/tool/lib/x@0.1.0-rc.1")
	proof, _ := bob.Sign(context.Background(), ProofMessage(r.s.Registry, "acme", r.s.Genesis, bob.fp()))
	r.do(ada, Op{Kind: OpKeyAdd, Keys: []KeyGrant{{Public: bob.pub, Proof: proof}}})
	withMeta := testEntry(bob, "acme/directive/hi@1.1.0", "new")
	withMeta.Meta = Meta{Description: "Grüße \U0001F600 \"quoted\"", Deps: map[string]string{"acme/tool/lib/x": "^0.1.0", "std/tool/y": "*"},
		Needs: objects.DigestOf([]byte("n")), Caps: objects.DigestOf([]byte("c"))}
	r.do(bob, Op{Kind: OpPublish, Items: []Entry{withMeta}})
	hi := func(v string) []Entry {
		ref, _ := objects.ParseRef("acme/directive/hi")
		return []Entry{{Ref: ref, Version: v}}
	}
	r.do(ada, Op{Kind: OpDeprecate, Reason: "old – use 1.1", Items: hi("1.0.0")})
	r.do(ada, Op{Kind: OpYank, Reason: "broken", Items: hi("1.0.0")})
	r.do(ada, Op{Kind: OpUnyank, Items: hi("1.0.0")})
	r.do(ada, Op{Kind: OpRevoke, Reason: "steals", Items: hi("1.0.0")})
	r.do(bob, Op{Kind: OpKeyRetire, Key: ada.fp()})

	got, err := r.replay()
	if err != nil {
		t.Fatal(err)
	}
	if got.Digest() != r.s.Digest() || got.Tip != r.s.Tip || got.Seq != 9 {
		t.Errorf("replay ends at %d %s, want %d %s", got.Seq, got.Tip, r.s.Seq, r.s.Tip)
	}
	vs, err := got.Versions(hi("")[0].Ref)
	if err != nil || len(vs) != 2 || vs[0].Status != StatusRevoked || vs[1].Meta.Description != withMeta.Meta.Description {
		t.Errorf("versions = %+v, %v", vs, err)
	}
	files, err := filesOf(got)
	if err != nil || len(files) != 6 {
		t.Errorf("%d files, %v; want namespace.yaml, three lists and two shards", len(files), err)
	}
	for path, raw := range files {
		if path == namespacePath {
			head, err := parseNamespace(raw)
			if err != nil || !bytes.Equal(head.EncodeNamespace(), raw) {
				t.Errorf("%s does not survive: %v", path, err)
			}
		} else if strings.HasSuffix(path, ".jsonl") {
			if _, err := ParseShard(raw); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}

func TestApplyRefuses(t *testing.T) {
	ada, eve := newKey("ada"), newKey("eve")
	base := func(t *testing.T) *rig {
		r := newRig(t, ClaimsGranted, ada)
		r.claim(ada)
		r.publish(ada, "acme/directive/hi@1.0.0")
		return r
	}
	hi := testEntry(ada, "acme/directive/hi@1.0.0", "other body")
	item := []Entry{{Ref: hi.Ref, Version: "1.0.0"}}
	for _, tt := range []struct {
		name string
		by   *testKey
		op   Op
		want fault.Code
	}{
		{"a stranger publishes", eve, Op{Kind: OpPublish, Items: []Entry{testEntry(eve, "acme/directive/evil@1.0.0", "x")}}, fault.Untrusted},
		{"a stranger's item", ada, Op{Kind: OpPublish, Items: []Entry{testEntry(eve, "acme/directive/evil@1.0.0", "x")}}, fault.Untrusted},
		{"a version changes", ada, Op{Kind: OpPublish, Items: []Entry{hi}}, fault.Integrity},
		{"a version again", ada, Op{Kind: OpPublish, Items: []Entry{testEntry(ada, "acme/directive/hi@1.0.0", "body of acme/directive/hi@1.0.0")}}, fault.Conflict},
		{"unyank of nothing", ada, Op{Kind: OpUnyank, Items: item}, fault.Conflict},
		{"yank of an unknown version", ada, Op{Kind: OpYank, Reason: "x", Items: []Entry{{Ref: hi.Ref, Version: "9.0.0"}}}, fault.NotFound},
		{"a key without proof", ada, Op{Kind: OpKeyAdd, Keys: []KeyGrant{{Public: eve.pub}}}, fault.Untrusted},
		{"the last key retires", ada, Op{Kind: OpKeyRetire, Key: ada.fp()}, fault.Conflict},
		{"a revocation of the future", ada, Op{Kind: OpKeyRevoke, Reason: "x", Key: ada.fp(), BadFrom: 99}, fault.Malformed},
		{"an item of another namespace", ada, Op{Kind: OpPublish, Items: []Entry{testEntry(ada, "other/tool/x@1.0.0", "x")}}, fault.Malformed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := base(t)
			before := r.s.Digest()
			wantCode(t, r.try(tt.by, tt.op), tt.want)
			if r.s.Digest() != before {
				t.Error("the state changed")
			}
		})
	}
}

// TestGoneStaysGone: no operation brings a revoked or redacted version back.
func TestGoneStaysGone(t *testing.T) {
	ada := newKey("ada")
	for _, gone := range []OpKind{OpRevoke, OpRedact} {
		r := newRig(t, ClaimsGranted, ada)
		r.claim(ada)
		r.publish(ada, "acme/directive/hi@1.0.0")
		hi := []Entry{{Ref: mustRef("acme/directive/hi"), Version: "1.0.0"}}
		r.do(ada, Op{Kind: gone, Reason: "steals", Items: hi})
		before := r.s.Digest()
		for _, kind := range []OpKind{OpUnyank, OpYank, OpDeprecate, gone} {
			op := Op{Kind: kind, Reason: "x", Items: hi}
			if kind == OpUnyank {
				op.Reason = ""
			}
			t.Run(string(gone)+" "+string(kind), func(t *testing.T) {
				wantCode(t, r.try(ada, op), fault.Conflict)
				if r.s.Digest() != before {
					t.Error("the state changed")
				}
			})
		}
	}
}

func TestKeyRevocation(t *testing.T) {
	ada, bob, mal := newKey("ada"), newKey("bob"), newKey("mal")
	r := newRig(t, ClaimsOpen)
	r.claim(ada)
	add := func(by, k *testKey) {
		t.Helper()
		proof, _ := k.Sign(context.Background(), ProofMessage(r.s.Registry, "acme", r.s.Genesis, k.fp()))
		r.do(by, Op{Kind: OpKeyAdd, Keys: []KeyGrant{{Public: k.pub, Proof: proof}}})
	}
	add(ada, bob)                              // 2
	r.publish(bob, "acme/directive/a@1.0.0")   // 3: good
	r.publish(bob, "acme/directive/bad@1.0.0") // 4: bad
	add(bob, mal)                              // 5: bad key
	r.publish(mal, "acme/directive/c@1.0.0")   // 6: bad with it
	r.publish(ada, "acme/directive/d@1.0.0")   // 7: good
	r.do(ada, Op{Kind: OpKeyRevoke, Reason: "stolen", Key: bob.fp(), BadFrom: 4})
	for name, want := range map[string]Status{"a": StatusOK, "bad": StatusRevoked, "c": StatusRevoked, "d": StatusOK} {
		ref, _ := objects.ParseRef("acme/directive/" + name)
		e, err := r.s.Entry(ref, "1.0.0")
		if err != nil || e.Status != want {
			t.Errorf("%s is %s, want %s (%v)", name, e.Status, want, err)
		}
	}
	for _, k := range []*testKey{bob, mal} {
		wantCode(t, r.try(k, Op{Kind: OpPublish, Items: []Entry{testEntry(k, "acme/directive/e@1.0.0", "x")}}), fault.Revoked)
		wantCode(t, r.try(k, Op{Kind: OpKeyAdd, Keys: []KeyGrant{{Public: k.pub}}}), fault.Untrusted)
	}
	if _, err := r.replay(); err != nil {
		t.Error(err)
	}
}

func TestRootAgreement(t *testing.T) {
	a, b, c := newKey("a"), newKey("b"), newKey("c")
	ctx := context.Background()
	approve := func(op *RootOp, keys ...*testKey) {
		for _, k := range keys {
			if err := op.Approve(ctx, k); err != nil {
				t.Fatal(err)
			}
		}
	}
	genesis := RootOp{Kind: OpGenesis, Name: "Two of three", Claims: ClaimsGranted, Threshold: 2,
		Keys: []trust.PublicKey{a.pub, b.pub, c.pub}}
	op, err := penOf(a).RootOperation(Root{}, genesis)
	if err != nil {
		t.Fatal(err)
	}
	approve(&op, b)
	_, _, err = penOf(a).SealRoot(ctx, Root{}, op)
	wantCode(t, err, fault.Untrusted) // c never signed
	approve(&op, c)
	_, root, err := penOf(a).SealRoot(ctx, Root{}, op)
	if err != nil {
		t.Fatal(err)
	}
	grant := RootOp{Kind: OpGrant, Namespace: "acme", Keys: []trust.PublicKey{c.pub}}
	op, _ = penOf(a).RootOperation(root, grant)
	_, _, err = penOf(a).SealRoot(ctx, root, op)
	wantCode(t, err, fault.Untrusted) // alone
	self := op
	approve(&self, a)
	_, _, err = penOf(a).SealRoot(ctx, root, self)
	wantCode(t, err, fault.Untrusted) // twice the same key
	other := op
	sig, _ := b.Sign(ctx, append(op.ApprovalMessage(), 'x'))
	other.Approvals = []Approval{{b.fp(), sig}}
	_, _, err = penOf(a).SealRoot(ctx, root, other)
	wantCode(t, err, fault.Integrity)
	approve(&op, b)
	_, root, err = penOf(a).SealRoot(ctx, root, op)
	if err != nil || root.Grant("acme") == nil {
		t.Fatal(err)
	}
	// New roots: the old set decides, and the new key must have signed.
	d := newKey("d")
	roots := RootOp{Kind: OpRoots, Name: "Two of three", Claims: ClaimsOpen, Threshold: 1, Keys: []trust.PublicKey{d.pub}}
	op, _ = penOf(d).RootOperation(root, roots)
	approve(&op, a, b)
	_, _, err = penOf(d).SealRoot(ctx, root, op)
	wantCode(t, err, fault.Untrusted)
	op, _ = penOf(a).RootOperation(root, roots)
	approve(&op, b)
	_, _, err = penOf(a).SealRoot(ctx, root, op)
	wantCode(t, err, fault.Untrusted)
	approve(&op, d)
	if _, root, err = penOf(a).SealRoot(ctx, root, op); err != nil || len(root.Keys) != 1 {
		t.Error(err)
	}
}

func TestMessageGrammar(t *testing.T) {
	ada := newKey("ada")
	r := newRig(t, ClaimsGranted, ada)
	r.claim(ada)
	r.publish(ada, "acme/directive/a@1.0.0", "acme/directive/b@1.0.0")
	c, err := store.ParseCommit(r.raws[1])
	if err != nil {
		t.Fatal(err)
	}
	good := c.Message
	if op, err := parseOpMessage(good); err != nil || op.Message() != good {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(good, "\n")
	for name, bad := range map[string]string{
		"another subject":    strings.Replace(good, "publish", "yank", 1),
		"unknown trailer":    good + "Rye-Extra: 1\n",
		"foreign trailer":    good + "Signed-off-by: Eve\n",
		"repeated trailer":   strings.Replace(good, lines[2], lines[2]+lines[2], 1),
		"swapped trailers":   strings.Replace(good, lines[2]+lines[3], lines[3]+lines[2], 1),
		"missing trailer":    strings.Replace(good, lines[4], "", 1),
		"no last line feed":  strings.TrimSuffix(good, "\n"),
		"empty last line":    good + "\n",
		"leading zero":       strings.Replace(good, "Rye-Seq: 2", "Rye-Seq: 02", 1),
		"jump to 2^63":       strings.Replace(good, "Rye-Seq: 2", "Rye-Seq: 9223372036854775808", 1),
		"claim at 2":         strings.Replace(good, "Rye-Op: publish", "Rye-Op: claim", 1),
		"unknown operation":  strings.Replace(good, "Rye-Op: publish", "Rye-Op: skip", 1),
		"newer format":       strings.Replace(good, "Rye-Format: 1", "Rye-Format: 2", 1),
		"no changes":         strings.NewReplacer("Rye-Changes: 2", "Rye-Changes: 0").Replace(good),
		"too many changes":   strings.NewReplacer("Rye-Changes: 2", "Rye-Changes: 65537", "and 1 more", "and 65536 more").Replace(good),
		"CR LF":              strings.ReplaceAll(good, "\n", "\r\n"),
		"double space":       strings.Replace(good, "Rye-Op: ", "Rye-Op:  ", 1),
		"changes of another": strings.NewReplacer("acme/directive/a", "other/directive/a").Replace(good),
	} {
		if bad == good {
			t.Fatalf("%s: the case changes nothing", name)
		}
		if _, err := parseOpMessage(bad); fault.CodeOf(err) != fault.Malformed {
			t.Errorf("%s: %v, want malformed", name, err)
		}
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"  a\t b\n": "a b", "x\u202ey": "xy", "\xff": "", "ab\u200dcd": "abcd", "caf\u00e9": "caf\u00e9",
		strings.Repeat("ä", 400): strings.Repeat("ä", 150),
	} {
		got := Plain(in, 300)
		if got != want || Plain(got, 300) != got {
			t.Errorf("Plain(%q) = %q, want %q", in, got, want)
		}
	}
}

func BenchmarkApply(b *testing.B) {
	ada := newKey("ada")
	r := newRig(b, ClaimsGranted, ada)
	r.claim(ada)
	for i := 0; i < 40; i++ {
		var names []string
		for j := 0; j < 250; j++ {
			names = append(names, fmt.Sprintf("acme/tool/t%05d@1.0.0", i*250+j))
		}
		r.publish(ada, names...)
	}
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		if _, err := r.replay(); err != nil {
			b.Fatal(err)
		}
	}
}

func asError[T error](err error, into *T) bool { return errors.As(err, into) }

// filesOf returns the files of the namespace's state by path, less its change list.
func filesOf(s State) (map[string][]byte, error) {
	out := map[string][]byte{namespacePath: s.EncodeNamespace(), cataloguePath + "/" + listName: s.cat.raw}
	for digit, l := range s.cat.lists {
		if l != nil {
			out[fmt.Sprintf("%s/%x/%s", cataloguePath, digit, listName)] = l.raw
		}
	}
	return out, s.cat.each(func(i byte, sh *Shard) error {
		rows, err := sh.Get()
		out[ShardPath(int(i))] = JoinRows(rows)
		return err
	})
}

func parseOpMessage(text string) (op Op, err error) {
	err = decodeMessage(text, &op)
	return op, err
}

func mustRef(s string) objects.Ref {
	ref, err := objects.ParseRef(s)
	if err != nil {
		panic(err)
	}
	return ref
}
