package oplog

import (
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store"
)

// quorum is a log of a namespace where two of three keys must agree.
type quorum struct {
	Root     []string          `json:"root"`     // raw commits of refs/heads/main, oldest first
	Log      []string          `json:"log"`      // raw commits of refs/heads/ns/acme
	Changes  []string          `json:"changes"`  // the change list of each, "" for none
	Keys     string            `json:"keys"`     // namespace.yaml of the last state
	State    string            `json:"state"`    // SHA-256 of its root list
	Proposal map[string]string `json:"proposal"` // the text of the last operation's, and what its approval signs
	Refuse   []refusal         `json:"refuse"`   // texts that are no proposals
	Wrong    []wrong           `json:"wrong"`
}

func makeQuorum(t *testing.T) quorum {
	r, ada, bob, eve := quorumRig(t)
	r.do(eve, r.proposed(ada, Op{Kind: OpKeyAdd, Keys: grants(t, r.s, newKey("new"))}, bob))
	r.do(bob, r.proposed(bob, Op{Kind: OpKeyRetire, Key: newKey("new").fp()}, ada))
	tool := testEntry(ada, "acme/tool/hi@1.0.0", "body of acme/tool/hi@1.0.0")
	last := r.proposed(ada, Op{Kind: OpRevoke, Reason: "reads too much", Items: []Entry{tool}}, bob)
	v := quorum{Proposal: map[string]string{"text": last.Proposal(), "signs": string(last.ApprovalMessage())}, Wrong: wrongQuorum(t, *r)}
	text := last.Proposal()
	v.Refuse = []refusal{
		{"no version named", strings.TrimSuffix(text, "\nacme/tool/hi@1.0.0\n")},
		{"a version named twice", text + "acme/tool/hi@1.0.0\n"},
		{"no line feed at the end", strings.TrimSuffix(text, "\n")},
		{"approvals without terms", strings.Replace(text, "Rye-Terms: ", "Rye-Term: ", 1)},
		{"of the root", messageOf(t, r.roots[1])},
		{"committed", messageOf(t, r.raws[len(r.raws)-1])},
	}
	r.do(ada, last)
	for _, raw := range r.roots {
		v.Root = append(v.Root, string(raw))
	}
	for i, raw := range r.raws {
		v.Log, v.Changes = append(v.Log, string(raw)), append(v.Changes, string(r.lists[i]))
	}
	v.Keys, v.State = string(r.s.EncodeNamespace()), r.s.Digest().String()
	return v
}

// wrongQuorum are operations that parse, each signed by a member, that too few agreed to.
func wrongQuorum(t *testing.T, r rig) (list []wrong) {
	ada, bob, eve := newKey("ada"), newKey("bob"), newKey("eve")
	plan := Op{Kind: OpKeyRetire, Key: eve.fp()}
	add := func(name, code string, by *testKey, op Op) {
		filled, next, err := r.s.Foresee(op, by.pub, testTime)
		if err != nil {
			t.Fatal(err)
		}
		filled.Terms, filled.Approvals, filled.Root = op.Terms, op.Approvals, r.root.Seq
		if filled.Kept, err = next.Keep(filled.Changes.Address, nil, nil); err != nil {
			t.Fatal(err)
		}
		raw, err := penOf(by).Commit(t.Context(), emptyTree, filled.Parents, filled.Message(), testTime)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, wrong{Name: name, After: len(r.raws), Commit: string(raw), Code: code})
	}
	alone := plan
	alone.Root = r.root.Seq
	add("one of two", "untrusted", ada, alone)
	add("one of two, with terms", "untrusted", ada, r.proposed(ada, plan))
	add("one key twice", "untrusted", ada, r.proposed(ada, plan, ada))
	add("a stranger", "untrusted", ada, r.proposed(ada, plan, newKey("stranger")))
	add("a key that was retired", "revoked", ada, r.proposed(ada, plan, newKey("new")))
	other := r.proposed(ada, Op{Kind: OpThreshold, Threshold: 3}, bob)
	op := r.proposed(ada, plan)
	op.Approvals = other.Approvals
	add("an approval of another operation", "integrity", ada, op)
	op = r.proposed(ada, plan)
	op.Terms.Until = testTime.Add(-time.Second)
	if err := op.Approve(t.Context(), bob); err != nil {
		t.Fatal(err)
	}
	add("too late", "untrusted", ada, op)
	op = r.proposed(ada, plan)
	op.Terms.Roles = 4
	if err := op.Approve(t.Context(), bob); err != nil {
		t.Fatal(err)
	}
	add("among other keys", "untrusted", ada, op)
	return list
}

func checkQuorum(t *testing.T, q quorum) {
	t.Helper()
	var raws [][]byte
	for _, c := range q.Root {
		raws = append(raws, []byte(c))
	}
	root, _, err := ReplayRoot(Root{}, raws, testTime, store.SHA1)
	if err != nil {
		t.Fatal(err)
	}
	v := vectors{Log: q.Log, Changes: q.Changes}
	s := applyVectors(t, v, root, len(q.Log))
	if got := string(s.EncodeNamespace()); got != q.Keys || s.Digest().String() != q.State {
		t.Errorf("quorum: state %s, want %s; keys %q, want %q", s.Digest(), q.State, got, q.Keys)
	}
	for _, w := range q.Wrong {
		op, err := Parse([]byte(w.Commit))
		if err == nil {
			_, err = ApplyAll(applyVectors(t, v, root, w.After), op, bytesOf(w.Changes))
		}
		if got := string(fault.CodeOf(err)); got != w.Code {
			t.Errorf("quorum: %s: code %q, want %q (%v)", w.Name, got, w.Code, err)
		}
	}
	for _, r := range q.Refuse {
		if _, err := ParseOpProposal(r.Message); err == nil {
			t.Errorf("quorum: %s: is read", r.Name)
		}
	}
	op, err := ParseOpProposal(q.Proposal["text"])
	if err != nil || string(op.ApprovalMessage()) != q.Proposal["signs"] {
		t.Errorf("quorum: proposal: %v, signs %q", err, op.ApprovalMessage())
	}
}
