package registry

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	Files     map[string]string `json:"files"`
	Listing   string            `json:"listing"` // its SHA-256 is the state
	State     string            `json:"state"`
	Tree      string            `json:"tree"`
	Shards    map[string]string `json:"shards"` // item to file of the catalogue
	Proof     map[string]string `json:"proof"`  // of a key, and what it signs
	Refuse    []refusal         `json:"refuse"`
}

type refusal struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

const vectorsPath = "../testdata/vectors/registry.json"

func readVectors(t *testing.T) (v vectors) {
	t.Helper()
	raw, err := os.ReadFile(vectorsPath)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

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
	v := readVectors(t)
	root, s := replayVectors(t, v)
	if got := root.ID.String(); got != v.Identity {
		t.Errorf("identity = %s, want %s", got, v.Identity)
	}
	if got := root.Digest().String(); got != v.RootState {
		t.Errorf("state of the root = %s, want %s", got, v.RootState)
	}
	if got, _ := root.tree(store.SHA1, nil); got.String() != v.RootTree {
		t.Errorf("tree of the root = %s, want %s", got, v.RootTree)
	}
	sameFiles(t, root.Encode(), v.RootFiles)
	files, err := filesOf(s)
	if err != nil {
		t.Fatal(err)
	}
	sameFiles(t, files, v.Files)
	if got := string(s.listing()); got != v.Listing {
		t.Errorf("listing = %q, want %q", got, v.Listing)
	}
	if got := s.Digest().String(); got != v.State {
		t.Errorf("state = %s, want %s", got, v.State)
	}
	if got, _ := s.tree(store.SHA1, nil); got.String() != v.Tree {
		t.Errorf("tree = %s, want %s", got, v.Tree)
	}
	for item, want := range v.Shards {
		if got := shardPath(int(shardOf(mustRef(item)))); got != want {
			t.Errorf("%s is in %s, want %s", item, got, want)
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
	root, _, err := replayRoot(Root{}, raws, testTime, store.SHA1)
	if err != nil {
		t.Fatal(err)
	}
	raws = nil
	for _, c := range v.Log {
		raws = append(raws, []byte(c))
	}
	s, err := replay(NewState(root, "acme"), raws, testTime, store.SHA1)
	if err != nil {
		t.Fatal(err)
	}
	return root, s
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
	r.rootOp(newKey("admin"), RootOp{Kind: OpCheckpoint, Checkpoints: []Checkpoint{{Namespace: "acme", Seq: r.s.Seq, Sum: r.s.Tip, ID: r.s.At}}})
	v := vectors{
		Comment:  "Logs of a registry: see docs/format/registry.md. Written by go test ./registry -run TestVectors -update.",
		Identity: r.root.ID.String(), RootState: r.root.Digest().String(), State: r.s.Digest().String(), Listing: string(r.s.listing()),
		RootFiles: map[string]string{}, Files: map[string]string{},
		Shards: map[string]string{"acme/directive/hello": shardPath(int(shardOf(hello.Ref))), "other/directive/hello": shardPath(int(shardOf(hello.Ref)))},
		Proof:  map[string]string{"key": bob.pub.Authorized(), "signs": string(msg)},
	}
	tree, _ := r.root.tree(store.SHA1, nil)
	v.RootTree = tree.String()
	tree, _ = r.s.tree(store.SHA1, nil)
	v.Tree = tree.String()
	for _, raw := range r.roots {
		v.Root = append(v.Root, string(raw))
	}
	for _, raw := range r.raws {
		v.Log = append(v.Log, string(raw))
	}
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
		{"items out of order", strings.Replace(strings.Replace(good, "acme/directive/hello@", "acme/zzz@", 1), "acme/zzz@", "acme/tool/zzz@", 1)},
		{"text that is not escaped", strings.Replace(good, `\u201c`, "“", 1)},
		{"no line feed at the end", strings.TrimSuffix(good, "\n")},
		{"a newer format", strings.Replace(good, "Rye-Format: 1", "Rye-Format: 2", 1)},
	}
	return v
}

var _ trust.Signer = (*testKey)(nil)

// TestFormatPage keeps the examples of the format's page true.
func TestFormatPage(t *testing.T) {
	page, err := os.ReadFile("../docs/format/registry.md")
	if err != nil {
		t.Fatal(err)
	}
	v := readVectors(t)
	line, _, _ := strings.Cut(v.Files["catalogue/e0.jsonl"], "\n")
	for _, part := range []string{v.Files[namespacePath], line, v.RootFiles[registryPath], v.RootFiles[grantPath("acme")], v.Log[1]} {
		if !strings.Contains(string(page), part) {
			t.Errorf("docs/format/registry.md lacks %q", part)
		}
	}
}
