package oplog

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// Every target has the property: what is read is written back byte for byte, or
// it is an error with a code.

func fuzzRig(f *testing.F) *rig {
	ada := newKey("ada")
	r := newRig(f, ClaimsGranted, ada)
	r.claim(ada)
	e := testEntry(ada, "acme/directive/hi@1.0.0", "x")
	e.Meta = Meta{Description: "Grüße", Deps: map[string]string{"acme/tool/x": "^1"}, Caps: objects.DigestOf(nil)}
	r.do(ada, Op{Kind: OpPublish, Items: []Entry{e}})
	r.do(ada, Op{Kind: OpYank, Reason: "wör\"se", Items: []Entry{{Ref: e.Ref, Version: e.Version}}})
	r.do(ada, Op{Kind: OpVoid, Void: Voided{Seq: 2, Sum: r.s.Tip}})
	r.do(ada, Op{Kind: OpKeyRevoke, Reason: "lost", Key: ada.fp(), BadFrom: 3, DropFrom: 4})
	return r
}

func wantCoded(t *testing.T, err error) {
	t.Helper()
	switch fault.CodeOf(err) {
	case fault.Malformed, fault.Limit, fault.Untrusted, fault.Integrity:
	default:
		t.Fatalf("code %q: %v", fault.CodeOf(err), err)
	}
}

func FuzzParseOp(f *testing.F) {
	r := fuzzRig(f)
	for _, raw := range append(r.raws, r.roots...) {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if op, err := Parse(raw); err != nil {
			wantCoded(t, err)
		} else if c, _ := store.ParseCommit(raw); op.Message() != c.Message {
			t.Fatalf("%q becomes %q", c.Message, op.Message())
		} else if prev, err := PrevOf(c); err != nil || prev != op.Prev {
			t.Fatalf("%q follows %s, %v; want %s", c.Message, prev, err, op.Prev)
		}
		if op, err := ParseRoot(raw); err != nil {
			wantCoded(t, err)
		} else if c, _ := store.ParseCommit(raw); op.Message() != c.Message {
			t.Fatalf("%q becomes %q", c.Message, op.Message())
		}
	})
}

func FuzzMessage(f *testing.F) {
	r := fuzzRig(f)
	q, ada, bob, eve := quorumRig(f)
	q.do(ada, q.proposed(ada, Op{Kind: OpKeyRetire, Key: eve.fp()}, bob))
	for _, raw := range slices.Concat(r.raws, r.roots, q.raws) {
		c, err := store.ParseCommit(raw)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(c.Message)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if op, err := parseOpMessage(text); err != nil {
			wantCoded(t, err)
		} else if op.Message() != text {
			t.Fatalf("%q becomes %q", text, op.Message())
		}
		if op, err := ParseProposal(text); err != nil {
			wantCoded(t, err)
		} else if op.Message() != text {
			t.Fatalf("%q becomes %q", text, op.Message())
		}
	})
}

func FuzzNamespaceFile(f *testing.F) {
	r := fuzzRig(f)
	f.Add(r.s.EncodeNamespace())
	q, _, _, _ := quorumRig(f)
	f.Add(q.s.EncodeNamespace())
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := parseNamespace(raw)
		if err != nil {
			wantCoded(t, err)
		} else if !bytes.Equal(s.EncodeNamespace(), raw) {
			t.Fatalf("%q becomes %q", raw, s.EncodeNamespace())
		}
	})
}

func FuzzShard(f *testing.F) {
	r := fuzzRig(f)
	files, err := filesOf(r.s)
	if err != nil {
		f.Fatal(err)
	}
	for path, raw := range files {
		if strings.HasSuffix(path, ".jsonl") {
			f.Add(raw)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		rows, err := ParseShard(raw)
		if err != nil {
			wantCoded(t, err)
			return
		}
		var again []*Row
		for _, r := range rows {
			again = append(again, &Row{r.Entry, r.Item, r.Entry.AppendLine(nil)})
		}
		if got := JoinRows(again); !bytes.Equal(got, raw) {
			t.Fatalf("%q becomes %q", raw, got)
		}
	})
}

func FuzzList(f *testing.F) {
	r := fuzzRig(f)
	f.Add(r.s.cat.raw, 16)
	for digit, l := range r.s.cat.lists {
		if l != nil {
			f.Add(l.raw, digit)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte, digit int) {
		names := rootNames()
		if digit >= 0 && digit < 16 {
			names = listNames()[digit]
		}
		lines, err := parseList(raw, names)
		if err != nil {
			wantCoded(t, err)
		} else if got := encodeList(lines); !bytes.Equal(got, raw) {
			t.Fatalf("%q becomes %q", raw, got)
		}
	})
}

// FuzzChanges: whatever an operation's change list holds, it is applied as a whole, to the
// state that the operation states, or refused.
func FuzzChanges(f *testing.F) {
	r := fuzzRig(f)
	for i := range r.raws {
		f.Add(i, r.lists[i])
	}
	states := []State{NewState(r.root, "acme")}
	ops := make([]Op, len(r.raws))
	for i, raw := range r.raws {
		op, err := Parse(raw)
		if err != nil {
			f.Fatal(err)
		}
		s, err := ApplyAll(states[i], op, r.lists[i])
		if err != nil {
			f.Fatal(err)
		}
		ops[i], states = op, append(states, s)
	}
	f.Fuzz(func(t *testing.T, i int, changes []byte) {
		if i < 0 || i >= len(ops) {
			return
		}
		op := ops[i]
		if len(changes) > 0 { // as if it were the one that was signed for
			op.Changes.Address = AddressOf(changes)
		}
		s, err := ApplyAll(states[i], op, changes)
		if err == nil && (s.Digest() != op.State.Sum || !bytes.Equal(changes, r.lists[i])) {
			t.Fatalf("applied %q", changes)
		}
	})
}

func FuzzParseMember(f *testing.F) {
	ada := newKey("ada")
	f.Add(KeyGrant{ada.pub, make([]byte, 64)}.Text())
	f.Add("ssh-ed25519 AAAA proof")
	f.Fuzz(func(t *testing.T, text string) {
		if k, err := ParseMember(text); err != nil {
			wantCoded(t, err)
		} else if k.Text() != text {
			t.Fatalf("%q becomes %q", text, k.Text())
		}
	})
}

// FuzzProposal: what is read of either kind of proposal is written back byte for byte.
func FuzzProposal(f *testing.F) {
	r, ada, bob, eve := quorumRig(f)
	tool := testEntry(ada, "acme/tool/hi@1.0.0", "body of acme/tool/hi@1.0.0")
	for _, op := range []Op{{Kind: OpRedact, Reason: "a \"password\"", Items: []Entry{tool}}, {Kind: OpThreshold, Threshold: 3},
		{Kind: OpTransfer, Keys: grants(f, r.s, newKey("x"), newKey("y")), Threshold: 2}, {Kind: OpKeyRevoke, Key: eve.fp(), BadFrom: 1, Reason: "lost"},
		{Kind: OpVoid, Void: Voided{Seq: 2, Sum: r.s.Tip}}} {
		op = r.proposed(ada, op, bob)
		f.Add(op.Proposal())
	}
	f.Fuzz(func(t *testing.T, text string) {
		op, err := ParseOpProposal(text)
		if err != nil {
			wantCoded(t, err)
		} else if op.Proposal() != text || !OfNamespace(text) {
			t.Fatalf("%q becomes %q", text, op.Proposal())
		}
	})
}
