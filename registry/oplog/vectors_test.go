package oplog

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

var update = flag.Bool("update", false, "write the vectors anew")

// vectors are for other implementations: two logs as raw commits, what they
// lead to, and messages to refuse.
type vectors struct {
	Comment   string            `json:"comment"`
	Identity  string            `json:"identity"`   // SHA-256 of the first root commit
	Root      []string          `json:"root"`       // raw commits of refs/heads/main, oldest first
	RootFiles map[string]string `json:"root_files"` // of the last tree
	RootState string            `json:"root_state"`
	RootTree  string            `json:"root_tree"` // git id
	Log       []string          `json:"log"`       // raw commits of refs/heads/ns/acme
	Changes   []string          `json:"changes"`   // the change list of each, "" for none
	Files     map[string]string `json:"files"`     // of the last state, less its change list
	State     string            `json:"state"`     // SHA-256 of its root list
	Kept      string            `json:"kept"`      // git id of the commit that keeps it
	Version   string            `json:"version"`   // the raw commit of a version, of a file that has no signature line
	Shards    map[string]string `json:"shards"`    // item to file of the catalogue
	Proof     map[string]string `json:"proof"`     // of a key, and what it signs
	Refuse    []refusal         `json:"refuse"`
	Read      []readable        `json:"read"` // operations of a root, and the file that follows from them alone
	Wrong     []wrong           `json:"wrong"`
	After     after             `json:"after"`
	Quorum    quorum            `json:"quorum"`
	Dropped   droppedLog        `json:"dropped"`
	Several   droppedLog        `json:"several"`
}

// after is how Log goes on: malformed operations, and one that voids the first of them. They
// leave the state as it is.
type after struct {
	Log     []string `json:"log"`     // raw commits
	Skipped []uint64 `json:"skipped"` // positions that have no effect
	Voided  []uint64 `json:"voided"`  // of these, those that are reported no more
}

// wrong is a well-formed operation that does not follow from the first operations of Log.
type wrong struct {
	Name    string `json:"name"`
	After   int    `json:"after"`             // operations
	Commit  string `json:"commit"`            // raw
	Changes string `json:"changes,omitempty"` // its change list
	Code    string `json:"code"`
	Skipped bool   `json:"skipped,omitempty"` // a member signed it as the next operation: it has no effect
}

type readable struct {
	Message string `json:"message"`
	Path    string `json:"path"`
	File    string `json:"file"`
}

type refusal struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

const vectorsPath = "../../testdata/vectors/registry.json"

func TestVectors(t *testing.T) {
	if *update {
		raw, err := json.MarshalIndent(makeVectors(t), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(vectorsPath), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(vectorsPath, append(raw, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	v := testkit.ReadJSON[vectors](t, vectorsPath)
	root, s := replayVectors(t, v)
	if got := root.ID.String(); got != v.Identity {
		t.Errorf("identity = %s, want %s", got, v.Identity)
	}
	if got := root.Digest().String(); got != v.RootState {
		t.Errorf("state of the root = %s, want %s", got, v.RootState)
	}
	if got, _ := root.Tree(store.SHA1, nil); got.String() != v.RootTree {
		t.Errorf("tree of the root = %s, want %s", got, v.RootTree)
	}
	sameFiles(t, root.Encode(), v.RootFiles)
	files, err := filesOf(s)
	if err != nil {
		t.Fatal(err)
	}
	sameFiles(t, files, v.Files)
	if got := s.Digest().String(); got != v.State {
		t.Errorf("state = %s, want %s", got, v.State)
	}
	if got := s.Kept.String(); got != v.Kept {
		t.Errorf("kept in %s, want %s", got, v.Kept)
	}
	checkWrong(t, v, root)
	checkAfter(t, v.After, s)
	checkQuorum(t, v.Quorum)
	checkDropped(t, v.Dropped)
	checkDropped(t, v.Several)
	for item, want := range v.Shards {
		if got := ShardPath(int(ShardOf(mustRef(item)))); got != want {
			t.Errorf("%s is in %s, want %s", item, got, want)
		}
	}
	for _, r := range v.Read {
		op, err := ParseProposal(r.Message)
		if err != nil || op.Message() != r.Message {
			t.Errorf("%q: %v, or is written otherwise", r.Message, err)
			continue
		}
		if got := string(fileOf(t, op)[r.Path]); got != r.File {
			t.Errorf("%s: %q, want %q", r.Path, got, r.File)
		}
	}
	for _, r := range v.Refuse {
		_, err1 := parseOpMessage(r.Message)
		_, err2 := ParseProposal(r.Message)
		if err1 == nil || err2 == nil {
			t.Errorf("%s: is read", r.Name)
		}
	}
}

func replayVectors(t *testing.T, v vectors) (Root, State) {
	t.Helper()
	var raws [][]byte
	for _, c := range v.Root {
		raws = append(raws, []byte(c))
	}
	root, _, err := ReplayRoot(Root{}, raws, testTime, store.SHA1)
	if err != nil {
		t.Fatal(err)
	}
	raws = nil
	for _, c := range v.Log {
		raws = append(raws, []byte(c))
	}
	return root, applyVectors(t, v, root, len(raws))
}

// applyVectors returns the state after the first n operations.
func applyVectors(t *testing.T, v vectors, root Root, n int) State {
	t.Helper()
	s := NewState(root, "acme")
	for i, raw := range v.Log[:n] {
		op, err := Parse([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if s, err = ApplyAll(s, op, bytesOf(v.Changes[i])); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func bytesOf(s string) []byte {
	if s == "" {
		return nil
	}
	return []byte(s)
}

func checkWrong(t *testing.T, v vectors, root Root) {
	t.Helper()
	for _, w := range v.Wrong {
		op, err := Parse([]byte(w.Commit))
		if err == nil {
			_, err = ApplyAll(applyVectors(t, v, root, w.After), op, bytesOf(w.Changes))
		}
		if got := string(fault.CodeOf(err)); got != w.Code {
			t.Errorf("%s: code %q, want %q (%v)", w.Name, got, w.Code, err)
		}
		op, err = Parse([]byte(w.Commit))
		if _, k, _ := applyVectors(t, v, root, w.After).follows([]byte(w.Commit), op, err); (k != nil) != w.Skipped {
			t.Errorf("%s: skipped as %v, want %t", w.Name, k, w.Skipped)
		}
	}
}

func checkAfter(t *testing.T, a after, s State) {
	t.Helper()
	var raws [][]byte
	for _, c := range a.Log {
		raws = append(raws, []byte(c))
	}
	end, done, err := Replay(context.Background(), s, raws, testTime)
	if err != nil || end.Digest() != s.Digest() || end.Seq != s.Seq+uint64(len(raws)) {
		t.Fatalf("the log goes on to %d, state %s, %v; want the state as it was", end.Seq, end.Digest(), err)
	}
	var k Skips
	for _, one := range done.Skipped {
		k.Add(one)
	}
	for _, op := range done.Ops {
		if op.Kind != OpVoid || !k.Void(op.Void, op.Seq) {
			t.Errorf("operation %d voids nothing", op.Seq)
		}
	}
	var skipped, voided []uint64
	for _, one := range k.List {
		skipped = append(skipped, one.Seq)
		if one.Voided > 0 {
			voided = append(voided, one.Seq)
		}
	}
	if !slices.Equal(skipped, a.Skipped) || !slices.Equal(voided, a.Voided) {
		t.Errorf("skipped %d and voided %d, want %d and %d", skipped, voided, a.Skipped, a.Voided)
	}
}

// makeAfter goes on after a log, by one of its keys.
func makeAfter(t *testing.T, s State, by *testKey) (a after) {
	ctx, p := context.Background(), penOf(by)
	retire := Op{Kind: OpKeyRetire, Key: newKey("nobody").fp()}
	for _, change := range []func(string) string{
		strings.NewReplacer("key-retire SHA256", "forbid SHA256", "Rye-Op: key-retire", "Rye-Op: forbid").Replace,
		func(m string) string { return m },
		func(m string) string { return strings.Replace(m, "Rye-Format: 1", "Rye-Format: 2", 1) },
		func(m string) string { return m + "Rye-Note: one trailer too many\n" },
	} {
		op := p.Place(s, retire)
		op.State, op.Kept = s.cat.at, s.Kept
		raw, err := p.Commit(ctx, emptyTree, op.Parents, change(op.Message()), op.Time)
		if err != nil {
			t.Fatal(err)
		}
		next, k, err := s.follows(raw, Op{}, fault.New(fault.Malformed, "malformed"))
		if err != nil {
			t.Fatal(err)
		}
		s, a.Log, a.Skipped = next, append(a.Log, string(raw)), append(a.Skipped, k.Seq)
		if a.Voided == nil {
			w, err := p.Operation(ctx, s, Op{Kind: OpVoid, Void: Voided{k.Seq, k.Sum}})
			if err != nil {
				t.Fatal(err)
			}
			s, a.Log, a.Voided = w.After, append(a.Log, string(w.Raw)), []uint64{k.Seq}
		}
	}
	return a
}

func sameFiles(t *testing.T, got map[string][]byte, want map[string]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d files, want %d", len(got), len(want))
	}
	for path, text := range want {
		if string(got[path]) != text {
			t.Errorf("%s = %q, want %q", path, got[path], text)
		}
	}
}

func makeVectors(t *testing.T) vectors {
	ctx := context.Background()
	ada, bob := newKey("ada"), newKey("bob")
	r := newRig(t, ClaimsGranted, ada)
	r.claim(ada)
	hello := testEntry(ada, "acme/directive/hello@1.0.0", "first")
	hello.Meta = Meta{Description: "Says hello to “everybody”", Deps: map[string]string{"acme/knowledge/names": "^1.0"},
		Caps: objects.DigestOf([]byte("rye.execute.tool.acme.*"))}
	r.do(ada, Op{Kind: OpPublish, Items: []Entry{hello, testEntry(ada, "acme/knowledge/names@1.0.0", "names")}})
	msg := ProofMessage(r.s.Registry, "acme", r.s.Genesis, bob.fp())
	proof, _ := bob.Sign(ctx, msg)
	r.do(ada, Op{Kind: OpKeyAdd, Keys: []KeyGrant{{Public: bob.pub, Proof: proof}}})
	r.publish(bob, "acme/directive/hello@1.1.0")
	r.do(ada, Op{Kind: OpYank, Reason: "greets twice – use 1.1", Items: []Entry{{Ref: hello.Ref, Version: "1.0.0"}}})
	r.do(ada, Op{Kind: OpKeyRevoke, Reason: "laptop lost", Key: bob.fp(), BadFrom: 5})
	r.rootOp(newKey("admin"), RootOp{Kind: OpCheckpoint, Checkpoints: []Checkpoint{{Namespace: "acme", Seq: r.s.Seq, Sum: r.s.Tip, ID: r.s.At, State: r.s.Digest()}}})
	v := vectors{
		Comment:  "Logs of a registry: see docs/format/registry.md. Written by go test ./registry/oplog -run TestVectors -update.",
		Identity: r.root.ID.String(), RootState: r.root.Digest().String(), State: r.s.Digest().String(), Kept: r.s.Kept.String(),
		RootFiles: map[string]string{}, Files: map[string]string{},
		Shards: map[string]string{"acme/directive/hello": ShardPath(int(ShardOf(hello.Ref))), "other/directive/hello": ShardPath(int(ShardOf(hello.Ref)))},
		Proof:  map[string]string{"key": bob.pub.Authorized(), "signs": string(msg)},
	}
	tree, _ := r.root.Tree(store.SHA1, nil)
	v.RootTree = tree.String()
	PutVersion(func(kind store.Type, data []byte) (store.OID, error) {
		if kind == store.TypeCommit {
			v.Version = string(data)
		}
		return store.SHA1.Hash(kind, data), nil
	}, &hello, []byte("first"))
	for _, raw := range r.roots {
		v.Root = append(v.Root, string(raw))
	}
	for i, raw := range r.raws {
		v.Log, v.Changes = append(v.Log, string(raw)), append(v.Changes, string(r.lists[i]))
	}
	v.Wrong = wrongs(t, r)
	v.After = makeAfter(t, r.s, ada)
	v.Quorum = makeQuorum(t)
	v.Dropped, v.Several = makeDropped(t), makeSeveral(t)
	for path, raw := range r.root.Encode() {
		v.RootFiles[path] = string(raw)
	}
	files, err := filesOf(r.s)
	if err != nil {
		t.Fatal(err)
	}
	for path, raw := range files {
		v.Files[path] = string(raw)
	}
	c, _ := store.ParseCommit(r.raws[1])
	good := c.Message
	v.Refuse = []refusal{
		{"an unknown trailer", good + "Rye-Extra: 1\n"},
		{"a foreign trailer", good + "Signed-off-by: Ada <ada@example.org>\n"},
		{"a subject that says something else", strings.Replace(good, "publish acme/directive", "yank acme/directive", 1)},
		{"a position with a leading zero", strings.Replace(good, "Rye-Seq: 2", "Rye-Seq: 02", 1)},
		{"an operation that is not known", strings.NewReplacer("publish acme/directive", "attest acme/directive", "Rye-Op: publish", "Rye-Op: attest").Replace(good)},
		{"no state", strings.Replace(good, "Rye-State: ", "Rye-Stat: ", 1)},
		{"a change list of nothing", strings.NewReplacer("Rye-Changes: 2", "Rye-Changes: 0", " and 1 more", "").Replace(good)},
		{"a change list of another namespace", strings.ReplaceAll(good, "acme/directive/hello", "other/directive/hello")},
		{"no line feed at the end", strings.TrimSuffix(good, "\n")},
		{"a newer format", strings.Replace(good, "Rye-Format: 1", "Rye-Format: 2", 1)},
	}
	grant := RootOp{Kind: OpGrant, Registry: r.root.ID, Seq: 4, Prev: r.root.Tip, State: r.root.Digest(), Namespace: "acme",
		Genesis: r.s.Genesis, Located: "https://git.example.org/acme.git", Keys: []trust.PublicKey{ada.pub}}
	roots := RootOp{Kind: OpRoots, Registry: r.root.ID, Seq: 4, Prev: r.root.Tip, State: r.root.Digest(), Name: "Test", Claims: ClaimsGranted,
		Threshold: 1, Tags: true, Keys: []trust.PublicKey{ada.pub}}
	for _, op := range []RootOp{grant, roots} {
		for path, file := range fileOf(t, op) {
			v.Read = append(v.Read, readable{op.Message(), path, string(file)})
		}
	}
	text := grant.Message()
	v.Refuse = append(v.Refuse,
		refusal{"a repository with a password", strings.Replace(text, "https://git", "https://me:secret@git", 1)},
		refusal{"a repository that is a command", strings.Replace(text, "https://git.example.org/acme.git", "ext::sh -c id", 1)},
		refusal{"a repository that means something else elsewhere", strings.Replace(text, "https://git.example.org/acme.git", "/srv/acme.git", 1)},
		refusal{"tags without a yes", strings.Replace(roots.Message(), "Rye-Tags: yes", "Rye-Tags: no", 1)})
	return v
}

// fileOf returns the one file that an operation of the root writes, by its path.
func fileOf(t *testing.T, op RootOp) map[string][]byte {
	t.Helper()
	root := Root{}
	if err := root.change(op); err != nil {
		t.Fatal(err)
	}
	files := root.Encode()
	if op.Kind == OpGrant {
		return map[string][]byte{grantPath(op.Namespace): files[grantPath(op.Namespace)]}
	}
	return map[string][]byte{registryPath: files[registryPath]}
}

var _ trust.Signer = (*testKey)(nil)

// TestFormatPage keeps the examples of the format's page true.
func TestFormatPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/format/registry.md")
	if err != nil {
		t.Fatal(err)
	}
	v := testkit.ReadJSON[vectors](t, vectorsPath)
	line, _, _ := strings.Cut(v.Files["catalogue/e0.jsonl"], "\n")
	for _, part := range []string{v.Files[namespacePath], line, v.RootFiles[registryPath], v.RootFiles[grantPath("acme")], v.Log[1]} {
		if !strings.Contains(string(page), part) {
			t.Errorf("docs/format/registry.md lacks %q", part)
		}
	}
}

// wrongs are operations that parse, each signed by an owner, and that no reader may take.
func wrongs(t *testing.T, r *rig) []wrong {
	t.Helper()
	ada := newKey("ada")
	base := NewState(r.root, "acme")
	for i := range 2 {
		op, err := Parse(r.raws[i])
		if err != nil {
			t.Fatal(err)
		}
		if base, err = ApplyAll(base, op, r.lists[i]); err != nil {
			t.Fatal(err)
		}
	}
	p := penOf(ada)
	honest, err := p.Operation(context.Background(), base, Op{Kind: OpPublish, Items: []Entry{testEntry(ada, "acme/tool/new@1.0.0", "new")}})
	if err != nil {
		t.Fatal(err)
	}
	spoil := func(name, code string, tree store.OID, changes []byte, change func(*Op)) wrong {
		op, err := Parse(honest.Raw)
		if err != nil {
			t.Fatal(err)
		}
		change(&op)
		raw, err := p.Commit(context.Background(), tree, op.Parents, op.Message(), op.Time)
		if err != nil {
			t.Fatal(err)
		}
		w := wrong{Name: name, After: 2, Commit: string(raw), Changes: string(changes), Code: code}
		again, bad := Parse(raw)
		_, k, _ := base.follows(raw, again, bad)
		w.Skipped = k != nil
		return w
	}
	none := func(*Op) {}
	status := []byte(strings.Replace(string(honest.Changes), `"state":"ok"`, `"state":"revoked"`, 1))
	forged := []byte(strings.Replace(string(honest.Changes), `"size":3`, `"size":4`, 1))
	return []wrong{
		spoil("files in the log", "integrity", store.SHA1.Hash(store.TypeTree, []byte("x")), honest.Changes, none),
		spoil("two parents", "fork", emptyTree, honest.Changes, func(op *Op) { op.Parents = append(op.Parents, op.Kept) }),
		spoil("no parent", "malformed", emptyTree, honest.Changes, func(op *Op) { op.Parents = nil }),
		spoil("another predecessor", "integrity", emptyTree, honest.Changes, func(op *Op) { op.Prev[0] ^= 1 }),
		spoil("a gap", "malformed", emptyTree, honest.Changes, func(op *Op) { op.Seq++ }),
		spoil("a state that does not follow", "integrity", emptyTree, honest.Changes, func(op *Op) { op.State = base.cat.at }),
		spoil("a state kept elsewhere", "integrity", emptyTree, honest.Changes, func(op *Op) { op.Kept = base.Kept }),
		spoil("a change list that is not the one named", "integrity", emptyTree, forged, none),
		spoil("a change list of another version", "integrity", emptyTree, forged, func(op *Op) { op.Changes.Address = AddressOf(forged) }),
		spoil("a change list that says more than was done", "malformed", emptyTree, status, func(op *Op) { op.Changes.Address = AddressOf(status) }),
		spoil("a count that is not the list's", "integrity", emptyTree, honest.Changes, func(op *Op) { op.Changes.Count = 2 }),
		spoil("a first version that is not the list's", "integrity", emptyTree, honest.Changes, func(op *Op) { op.Changes.First = "acme/tool/other@1.0.0" }),
	}
}
