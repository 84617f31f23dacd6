package oplog

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store"
)

// droppedLog is a log in which a key-revoke drops what its key wrote, which nobody serves. What
// another key marked between is left out where it rests on that.
type droppedLog struct {
	Root    []string          `json:"root"`    // raw commits of refs/heads/main, oldest first
	Log     []string          `json:"log"`     // raw commits of refs/heads/ns/acme
	Changes []string          `json:"changes"` // the change list of each, "" for none and for those that are hidden
	Dropped []uint64          `json:"dropped"` // positions whose change lists are dropped
	Files   map[string]string `json:"files"`   // of the last state, less its change list
	State   string            `json:"state"`   // SHA-256 of its root list
	Wrong   []refusal         `json:"wrong"`   // the last message, changed: malformed where a member signs it
}

func makeDropped(t *testing.T) droppedLog {
	ada, bob := newKey("ada"), newKey("bob")
	r := newRig(t, ClaimsGranted, ada)
	r.claim(ada)
	r.publish(ada, "acme/tool/hi@1.0.0")
	r.do(ada, Op{Kind: OpKeyAdd, Keys: grants(t, r.s, bob)})
	r.publish(bob, "acme/tool/before@1.0.0") // 4
	r.publish(bob, "acme/tool/evil@1.0.0")   // 5
	evil := testEntry(bob, "acme/tool/evil@1.0.0", "")
	r.do(ada, Op{Kind: OpYank, Reason: "odd", Items: []Entry{evil, testEntry(ada, "acme/tool/hi@1.0.0", "")}})
	last := Op{Kind: OpKeyRevoke, Reason: "laptop lost", Key: bob.fp(), BadFrom: 4, DropFrom: 5}
	r.lists[4] = nil // it is hidden
	r.s.cat = r.without(r.s.plannedKeys([]Op{last})).cat
	r.do(ada, last)
	v := droppedOf(t, r, 5)
	text := messageOf(t, r.raws[len(r.raws)-1])
	for name, value := range map[string]string{"from nowhere": "0", "from its own position": "7", "from before the key was bad": "3", "not a count": "05"} {
		v.Wrong = append(v.Wrong, refusal{name, strings.Replace(text, "Rye-Drop-From: 5", "Rye-Drop-From: "+value, 1)})
	}
	slices.SortFunc(v.Wrong, func(a, b refusal) int { return strings.Compare(a.Name, b.Name) })
	return v
}

// makeSeveral is a log in which one key-revoke names two keys, each of which signed what nobody
// serves. A third key, which bob added, falls with his.
func makeSeveral(t *testing.T) droppedLog {
	ada, bob, cyd, eve := newKey("ada"), newKey("bob"), newKey("cyd"), newKey("eve")
	r := newRig(t, ClaimsGranted, ada)
	r.claim(ada)
	r.do(ada, Op{Kind: OpKeyAdd, Keys: grants(t, r.s, bob, eve)})
	r.publish(ada, "acme/tool/hi@1.0.0")
	r.do(bob, Op{Kind: OpKeyAdd, Keys: grants(t, r.s, cyd)}) // 4
	r.publish(eve, "acme/tool/evil@1.0.0")                   // 5
	r.publish(cyd, "acme/tool/worse@1.0.0")                  // 6
	r.publish(ada, "acme/tool/hi@1.1.0")
	last, err := RevokeOp("laptops lost", KeyRevocation{bob.fp(), 4, 4}, KeyRevocation{eve.fp(), 3, 5})
	if err != nil {
		t.Fatal(err)
	}
	r.lists[4], r.lists[5] = nil, nil // they are hidden
	r.s.cat = r.without(r.s.plannedKeys([]Op{last})).cat
	r.do(ada, last)
	v := droppedOf(t, r, 5, 6)
	text := messageOf(t, r.raws[len(r.raws)-1])
	subject, rest, _ := strings.Cut(text, "Rye-Key: ")
	first, second, _ := strings.Cut(rest, "Rye-Key: ")
	one, _, _ := strings.Cut(first, "\n")
	other, _, _ := strings.Cut(second, "\n")
	for name, wrong := range map[string]string{
		"out of order":                   "Rye-Key: " + second + "Rye-Key: " + first,
		"one key twice":                  "Rye-Key: " + first + "Rye-Key: " + first,
		"from its own position":          strings.Replace("Rye-Key: "+rest, "Rye-Drop-From: 5", "Rye-Drop-From: 8", 1),
		"from before the second was bad": strings.Replace("Rye-Key: "+rest, "Rye-Bad-From: 3\nRye-Drop-From: 5", "Rye-Bad-From: 5\nRye-Drop-From: 4", 1),
		"without the position of a key":  strings.Replace("Rye-Key: "+rest, "Rye-Bad-From: 3\n", "", 1),
	} {
		if name == "out of order" { // and no more than that
			v.Wrong = append(v.Wrong, refusal{name, strings.Replace(subject, one, other, 1) + wrong})
			continue
		}
		v.Wrong = append(v.Wrong, refusal{name, subject + wrong})
	}
	v.Wrong = append(v.Wrong, refusal{"a subject of one key", strings.Replace(text, " and 1 more", "", 1)})
	slices.SortFunc(v.Wrong, func(a, b refusal) int { return strings.Compare(a.Name, b.Name) })
	return v
}

// droppedOf returns a log that ends in what drops these positions.
func droppedOf(t *testing.T, r *rig, positions ...uint64) droppedLog {
	v := droppedLog{Dropped: positions, State: r.s.Digest().String(), Files: map[string]string{}}
	for _, raw := range r.roots {
		v.Root = append(v.Root, string(raw))
	}
	for i, raw := range r.raws {
		v.Log, v.Changes = append(v.Log, string(raw)), append(v.Changes, string(r.lists[i]))
	}
	files, err := filesOf(r.s)
	if err != nil {
		t.Fatal(err)
	}
	for path, raw := range files {
		v.Files[path] = string(raw)
	}
	return v
}

// without examines the log so far with these keys.
func (r *rig) without(keys []Key) Examined {
	r.t.Helper()
	_, done, err := Replay(context.Background(), NewState(r.root, "acme"), r.raws, testTime)
	if err != nil {
		r.t.Fatal(err)
	}
	from := func(a Address) ([]byte, error) {
		for _, list := range r.lists {
			if list != nil && AddressOf(list) == a {
				return list, nil
			}
		}
		return nil, fault.New(fault.Network, "nobody serves %s", a.ID)
	}
	x := Examined{State: NewState(r.root, "acme"), Keys: keys, Skipped: done.Skipped}
	if err := x.Replay(context.Background(), from, done.Ops); err != nil {
		r.t.Fatal(err)
	}
	return x
}

func checkDropped(t *testing.T, v droppedLog) {
	t.Helper()
	var raws [][]byte
	for _, c := range v.Root {
		raws = append(raws, []byte(c))
	}
	root, _, err := ReplayRoot(Root{}, raws, testTime, store.SHA1)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, root: root}
	for i := range v.Log {
		r.raws, r.lists = append(r.raws, []byte(v.Log[i])), append(r.lists, bytesOf(v.Changes[i]))
	}
	s, _, err := Replay(context.Background(), NewState(root, "acme"), r.raws, testTime)
	if err != nil || s.Digest().String() != v.State {
		t.Fatalf("dropped: the log states %s, %v; want %s", s.Digest(), err, v.State)
	}
	x := r.without(s.keys)
	if x.Digest() != s.Digest() {
		t.Errorf("dropped: derived %s, want %s", x.Digest(), s.Digest())
	}
	files, err := filesOf(x.State)
	if err != nil {
		t.Fatal(err)
	}
	sameFiles(t, files, v.Files)
	var seqs []uint64
	for _, d := range x.Dropped {
		seqs = append(seqs, d.Seq)
	}
	if !slices.Equal(seqs, v.Dropped) {
		t.Errorf("dropped: %d, want %d", seqs, v.Dropped)
	}
	for _, w := range v.Wrong {
		op, err := parseOpMessage(w.Message)
		after := s
		after.keys = slices.Clone(s.keys)
		for i := range after.keys {
			if k := &after.keys[i]; k.State == KeyRevoked {
				*k = Key{Public: k.Public, Added: k.Added, By: k.By, State: KeyActive}
			}
		}
		if err == nil {
			err = after.revokeKeys(op)
		}
		if !fault.Is(err, fault.Malformed) {
			t.Errorf("dropped: %s: %v, want malformed", w.Name, err)
		}
	}
}
