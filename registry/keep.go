package registry

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// The branch content/<namespace> keeps states and versions from being collected by the
// host, by merges, and shows people a README. It proves nothing: readers take what they
// look for from it by its id, and never remember its tip.

// contentPrefix is where the branches of content are.
const contentPrefix = "refs/heads/content/"

// contentOf returns the branch that keeps the content of a namespace.
func contentOf(namespace string) string { return contentPrefix + namespace }

// maxParents bounds the parents of one merge.
const maxParents = 64

// keeping gathers what operations refer to, to be merged into the branch of the content.
type keeping struct {
	p     oplog.Pen
	put   oplog.Sink
	tip   store.OID // of the branch; zero where there is none
	heads []store.OID
	files map[string]store.OID // of the tree; nil: the README alone
	done  []string             // operations, newest first, for people
	prior []string             // those before them
}

// add gathers an operation, the state after it and the versions that it published.
func (k *keeping) add(op oplog.Op, s oplog.State, items []oplog.Entry) {
	k.heads = append(k.heads, s.Kept)
	k.done = slices.Insert(k.done, 0, doneLine(op, s.Time))
	for i := range items {
		if id := items[i].Commit; !id.IsZero() {
			k.heads = append(k.heads, id)
		}
	}
}

// merge merges all that was gathered and returns the new tip.
func (k *keeping) merge(ctx context.Context, s oplog.State) (store.OID, error) {
	if k.files == nil {
		readme, err := k.put(store.TypeBlob, contentReadme(s, append(k.done, k.prior...)))
		if err != nil {
			return k.tip, err
		}
		k.files = map[string]store.OID{"README.md": readme}
	}
	tree, err := oplog.PutTrees(k.put, k.files)
	for len(k.heads) > 0 && err == nil {
		var parents []store.OID
		if !k.tip.IsZero() {
			parents = append(parents, k.tip)
		}
		n := min(maxParents-len(parents), len(k.heads))
		parents = append(parents, k.heads[:n]...)
		k.heads = k.heads[n:]
		var raw []byte
		if raw, err = k.p.Commit(ctx, tree, parents, fmt.Sprintf("content of %s\n", s.Namespace), s.Time); err == nil {
			k.tip, err = k.put(store.TypeCommit, raw)
		}
	}
	return k.tip, err
}

// contentReadme is what people see who look at the branch on their forge.
func contentReadme(s oplog.State, done []string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n%d versions were published in %d operations, the last on %s.\n\n",
		s.Namespace, s.Published, s.Seq, s.Time.Format("2006-01-02"))
	fmt.Fprintf(&b, "The signed log of what happened is the branch `ns/%s`: `git log ns/%s` reads\nlike a change log. This branch keeps what the log refers to, and proves nothing\nby itself. Use it with `rye add %s/<kind>/<name>`.\n", s.Namespace, s.Namespace, s.Namespace)
	b.WriteString("\nThe last operations:\n\n")
	for _, line := range done[:min(len(done), shownOperations)] {
		b.WriteString(line)
	}
	return b.Bytes()
}

// shownOperations is how many operations the README tells of.
const shownOperations = 50

// doneLine is one of them. It holds no text by people, and is code, so that a forge makes
// neither links nor mentions of it.
func doneLine(op oplog.Op, when time.Time) string {
	return fmt.Sprintf("- %d, %s: `%s`\n", op.Seq, when.Format("2006-01-02"), op.Subject())
}

// doneBefore returns what the cache knows of the operations up to one, newest first.
func doneBefore(rd *store.Reader, at store.OID) (done []string) {
	for range shownOperations {
		if at.IsZero() {
			break
		}
		raw, parent, err := oplog.ReadCommit(rd, at)
		if err != nil {
			break // the cache begins at a checkpoint
		}
		at = parent
		if op, err := oplog.ParseChecked(raw); err == nil { // else it is malformed, and did nothing
			done = append(done, doneLine(op, op.Time))
		}
	}
	return done
}

// promised turns the absence of something that a log promises into what it is: the host
// hides it, or lost it.
func promised(err error, what string) error {
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.Network, "%s: the registry does not hold it, and its log promises it: %w", what, err).
			Advise("ask the owners of the registry; a mirror may have it")
	}
	return err
}
