package gogit

import (
	"context"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"
	storagetest "github.com/go-git/go-git/v5/storage/test"
	"gopkg.in/check.v1"

	"github.com/rye-os/rye/store"
)

// TestStorageSuite runs go-git's own tests of a storage. Of its twenty-three these are skipped by
// the suite itself, each because of an interface that is optional and that nobody here needs:
//
//   - TestObjectStorerTx… (four): storer.Transactioner; many objects come as a pack
//   - TestDeltaObjectStorer: storer.DeltaObjectStorer; the store hands out whole objects, hashed
//
// Its refs lead to objects that do not exist; see invented.
func TestStorageSuite(t *testing.T) {
	s := &suite{dir: t.TempDir()}
	res := check.Run(s, &check.RunConf{Output: testWriter{t}})
	if !res.Passed() || res.Succeeded != 18 || res.Skipped != 5 {
		t.Errorf("%s; want 18 passed, 5 skipped", res)
	}
}

type suite struct {
	storagetest.BaseStorageSuite
	dir  string
	repo *store.Repo
}

func (s *suite) SetUpTest(c *check.C) {
	r, err := store.Init(c.MkDir()+"/r.git", "refs/heads/main")
	c.Assert(err, check.IsNil)
	st, err := NewStorage(context.Background(), r, Limits{})
	c.Assert(err, check.IsNil)
	s.repo = r
	s.BaseStorageSuite = storagetest.NewBaseStorageSuite(&invented{Storage: st, real: map[plumbing.Hash]plumbing.Hash{}, names: map[plumbing.Hash]plumbing.Hash{}})
}

func (s *suite) TearDownTest(c *check.C) { c.Check(s.repo.Close(), check.IsNil) }

// invented stands between the suite and a Storage: where the suite invents the id of a commit
// that a ref is to lead to, a real commit is made, and its id is the invented one's in every
// ref. So refs are moved as they always are, with no way around what store.Repo.Swap checks.
type invented struct {
	*Storage
	real, names map[plumbing.Hash]plumbing.Hash
}

func (v *invented) commit(r *plumbing.Reference) (*plumbing.Reference, error) {
	if r == nil {
		return nil, nil
	}
	if v.real[r.Hash()].IsZero() {
		ctx := context.Background()
		tree, err := v.repo.Put(ctx, store.TypeTree, nil)
		if err != nil {
			return nil, err
		}
		who := store.Stamp{Name: "a", Email: "a@example.com", Zone: "+0000"}
		raw, err := store.EncodeCommit(&store.Commit{Tree: tree, Author: who, Committer: who, Message: r.Hash().String() + "\n"})
		if err != nil {
			return nil, err
		}
		id, err := v.repo.Put(ctx, store.TypeCommit, raw)
		if err != nil {
			return nil, err
		}
		v.real[r.Hash()], v.names[hashOf(id)] = hashOf(id), r.Hash()
	}
	return plumbing.NewHashReference(r.Name(), v.real[r.Hash()]), nil
}

func (v *invented) SetReference(r *plumbing.Reference) error {
	r, err := v.commit(r)
	if err != nil {
		return err
	}
	return v.Storage.SetReference(r)
}

func (v *invented) CheckAndSetReference(to, old *plumbing.Reference) error {
	to, err := v.commit(to)
	if err != nil {
		return err
	}
	if old, err = v.commit(old); err != nil {
		return err
	}
	return v.Storage.CheckAndSetReference(to, old)
}

func (v *invented) Reference(n plumbing.ReferenceName) (*plumbing.Reference, error) {
	r, err := v.Storage.Reference(n)
	if err != nil {
		return nil, err
	}
	return plumbing.NewHashReference(n, v.names[r.Hash()]), nil
}

func (v *invented) IterReferences() (storer.ReferenceIter, error) {
	i, err := v.Storage.IterReferences()
	if err != nil {
		return nil, err
	}
	var all []*plumbing.Reference
	err = i.ForEach(func(r *plumbing.Reference) error {
		all = append(all, plumbing.NewHashReference(r.Name(), v.names[r.Hash()]))
		return nil
	})
	return storer.NewReferenceSliceIter(all), err
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) { w.t.Logf("%s", b); return len(b), nil }
