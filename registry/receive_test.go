package registry

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// TestJudge: what the program publishes is let through, in one push and step by step; what
// readers would refuse is not.
func TestJudge(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, oplog.ClaimsGranted)
	m, eve := w.machine(t), newKey("eve")
	w.publish(m, w.ada, "acme/knowledge/one@1.0.0")
	repo, err := store.Open(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer repo.Close()
	ref := func(name string) store.OID {
		id, err := repo.Ref(name)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	log, content, main := ref(branchOf("acme")), ref(contentOf("acme")), ref(mainBranch)
	s, err := m.View("acme")
	if err != nil {
		t.Fatal(err)
	}
	s = s.WithRoot(m.root)
	w.publish(m, w.ada, "acme/knowledge/two@1.0.0")
	next, more := ref(branchOf("acme")), ref(contentOf("acme"))
	put := func(by *testKey, tree store.OID, msg string, parents ...store.OID) store.OID {
		t.Helper()
		raw, err := penOf(by).Commit(ctx, tree, slices.DeleteFunc(parents, store.OID.IsZero), msg, w.now)
		if err != nil {
			t.Fatal(err)
		}
		b := repo.NewBatch()
		id, err := b.Add(store.TypeCommit, raw)
		if err == nil {
			err = b.Flush(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
		return id
	}
	op, err := oplog.Parse(mustObject(t, repo, next))
	if err != nil {
		t.Fatal(err)
	}
	stolen := put(eve, emptyTree, op.Message(), log)
	files := put(w.ada, treeOf(t, repo, content), op.Message(), log)
	gone := op
	gone.Kept = log
	lost := put(w.ada, emptyTree, gone.Message(), log)
	beyond := op
	beyond.Root = 99
	early := put(w.ada, emptyTree, beyond.Message(), log)
	merge := "content of acme\n"
	tree := treeOf(t, repo, content)
	root, err := hostRoot(ctx, &repo.Reader, main)
	if err != nil {
		t.Fatal(err)
	}
	grant, err := penOf(w.root).RootOperation(root, oplog.RootOp{Kind: oplog.OpGrant, Namespace: "beta", Keys: []trust.PublicKey{eve.pub}})
	if err != nil {
		t.Fatal(err)
	}
	granted, err := root.TestOnlyChange(grant)
	if err != nil {
		t.Fatal(err)
	}
	beta, err := granted.Tree(store.SHA1, func(kind store.Type, data []byte) (store.OID, error) {
		b := repo.NewBatch()
		defer b.Release()
		id, err := b.Add(kind, data)
		if err == nil {
			err = b.Flush(ctx)
		}
		return id, err
	})
	if err != nil {
		t.Fatal(err)
	}
	var none store.OID
	ns, keeps := branchOf("acme"), contentOf("acme")
	for name, c := range map[string]struct {
		moves []Move
		want  fault.Code
	}{
		"everything at once":            {[]Move{{keeps, none, more}, {ns, none, next}, {mainBranch, none, main}}, ""},
		"step by step":                  {[]Move{{ns, log, next}, {keeps, content, more}}, ""},
		"content before its log":        {[]Move{{keeps, content, more}}, ""},
		"a branch of nobody":            {[]Move{{"refs/heads/notes", none, stolen}}, ""},
		"a tag":                         {[]Move{{"refs/tags/acme/knowledge/one/1.0.0", none, s.Kept}}, ""},
		"a log that goes back":          {[]Move{{ns, next, log}}, fault.Fork},
		"a log that is deleted":         {[]Move{{ns, next, none}}, fault.Rollback},
		"a root that is deleted":        {[]Move{{mainBranch, main, none}}, fault.Rollback},
		"content that is deleted":       {[]Move{{keeps, more, none}}, fault.Rollback},
		"an operation by a stranger":    {[]Move{{ns, log, stolen}}, fault.Untrusted},
		"files in a log":                {[]Move{{ns, log, files}}, fault.Integrity},
		"a state that is not kept":      {[]Move{{ns, log, lost}}, fault.Integrity},
		"a root that nobody knows":      {[]Move{{ns, log, early}}, fault.Rollback},
		"another root":                  {[]Move{{mainBranch, main, put(w.root, beta, grant.Message(), none)}}, fault.Fork},
		"a further grant":               {[]Move{{mainBranch, main, put(w.root, beta, grant.Message(), main)}}, ""},
		"a root with a file more":       {[]Move{{mainBranch, main, put(w.root, tree, grant.Message(), main)}}, fault.Integrity},
		"a root by a stranger":          {[]Move{{mainBranch, main, put(eve, beta, grant.Message(), main)}}, fault.Untrusted},
		"content by a stranger":         {[]Move{{keeps, content, put(eve, tree, merge, content, s.Kept)}}, fault.Untrusted},
		"content that says more":        {[]Move{{keeps, content, put(w.ada, tree, "content of beta\n", content, s.Kept)}}, fault.Malformed},
		"content that is rebuilt":       {[]Move{{keeps, more, put(w.ada, tree, merge, s.Kept)}}, ""},
		"content that begins anew":      {[]Move{{keeps, more, put(eve, tree, merge, s.Kept)}}, fault.Untrusted},
		"content of nobody's namespace": {[]Move{{contentOf("beta"), none, put(w.ada, tree, "content of beta\n", s.Kept)}}, fault.Untrusted},
		"a name that is none":           {[]Move{{logPrefix + "Beta", none, next}}, fault.Malformed},
		"another's log":                 {[]Move{{branchOf("beta"), none, next}}, fault.Integrity},
	} {
		if err := Judge(ctx, repo, c.moves, w.now); fault.CodeOf(err) != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	// Who hands a namespace on signs the content of that, and may write no more afterwards.
	if err := changeKeys(w, m, By{Signer: w.ada}, oplog.Op{Kind: oplog.OpTransfer, Keys: grants(t, s, eve)}); err != nil {
		t.Fatal(err)
	}
	if err := Judge(ctx, repo, []Move{{ns, next, ref(ns)}, {keeps, more, ref(keeps)}}, w.now); err != nil {
		t.Errorf("handed on: %v", err)
	}
	if err := Judge(ctx, repo, []Move{{keeps, more, ref(keeps)}}, w.now); !fault.Is(err, fault.Untrusted) {
		t.Errorf("content by who handed it on: %v", err)
	}
	// Dated ahead of the host.
	if err := Judge(ctx, repo, []Move{{ns, none, next}}, w.now.Add(-24*3600e9)); !fault.Is(err, fault.Malformed) {
		t.Errorf("from the future: %v", err)
	}
}

func mustObject(t *testing.T, repo *store.Repo, id store.OID) []byte {
	t.Helper()
	_, raw, err := repo.Object(id, 0)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func treeOf(t *testing.T, repo *store.Repo, id store.OID) store.OID {
	t.Helper()
	c, err := repo.Commit(id)
	if err != nil {
		t.Fatal(err)
	}
	return c.Tree
}

func TestParseMoves(t *testing.T) {
	a, zero := strings.Repeat("a", 40), noObject
	good, err := ParseMoves(zero + " " + a + " refs/heads/main\n" + a + " " + zero + " refs/heads/ns/acme\n")
	if err != nil || len(good) != 2 || !good[0].Old.IsZero() || !good[1].New.IsZero() {
		t.Errorf("got %v, %v", good, err)
	}
	for _, bad := range []string{"x", a + " " + a + "\n", a + " " + a + " refs/heads/../x\n", a + " " + a + " refs/heads/x y\n",
		strings.Repeat(a+" "+zero+" refs/heads/x\n", 2), "\n"} {
		if _, err := ParseMoves(bad); !fault.Is(err, fault.Malformed) && !fault.Is(err, fault.Usage) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzParseMoves(f *testing.F) {
	f.Add(strings.Repeat("a", 40) + " " + noObject + " refs/heads/ns/acme\n")
	f.Fuzz(func(t *testing.T, text string) {
		moves, err := ParseMoves(text)
		if err == nil && len(moves) != len(strings.Split(strings.TrimSuffix(text, "\n"), "\n")) && text != "" {
			t.Fatalf("%q becomes %v", text, moves)
		}
	})
}
