package registry

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// The branch content/<namespace> merges states and versions, so that the host does not collect
// them, and shows people a README. It proves nothing: readers fetch objects from it by id, and
// never remember its tip.
//
// Its README is the same after every publication, because a host writes a file for each new
// object. Only a rebuild, which is rare, writes one that lists versions and operations.

// contentPrefix begins the names of content branches.
const contentPrefix = "refs/heads/content/"

// contentOf returns the content branch of a namespace.
func contentOf(namespace string) string { return contentPrefix + namespace }

// maxParents bounds the parents of one merge.
const maxParents = 64

// keeping gathers the commits of operations, to be merged into the content branch.
type keeping struct {
	p     oplog.Pen
	put   oplog.Sink
	tip   store.OID // of the branch; zero for none
	heads []store.OID
	files map[string]store.OID // of the tree; nil: only the README of a publication
}

// add adds the state after an operation, and the versions that the operation published.
func (k *keeping) add(s oplog.State, items []oplog.Entry) {
	k.heads = append(k.heads, s.Kept)
	for i := range items {
		if id := items[i].Commit; !id.IsZero() {
			k.heads = append(k.heads, id)
		}
	}
}

// merge merges everything gathered and returns the new tip.
func (k *keeping) merge(ctx context.Context, s oplog.State) (store.OID, error) {
	if k.files == nil {
		readme, err := k.put(store.TypeBlob, contentReadme(s.Namespace))
		if err != nil {
			return k.tip, err
		}
		k.files = map[string]store.OID{readmeName: readme}
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

const readmeName = "README.md"

// contentReadme is shown to people who look at the branch on a forge.
func contentReadme(namespace string) []byte {
	return fmt.Appendf(nil, "# %[1]s\n\nThe signed log of what happened is the branch `ns/%[1]s`: `git log ns/%[1]s` reads\nlike a change log. This branch keeps what the log refers to, and proves nothing\nby itself. Use it with `rye add %[1]s/<kind>/<name>`.\n", namespace)
}

// rebuiltReadme is contentReadme with counts, the last operations and all versions.
func rebuiltReadme(s oplog.State, done []string) []byte {
	b := bytes.NewBuffer(contentReadme(s.Namespace))
	fmt.Fprintf(b, "\n%d versions were published in %d operations, the last on %s.\n", s.Published, s.Seq, s.Time.Format("2006-01-02"))
	b.WriteString("\nThe last operations:\n\n")
	for _, line := range done[:min(len(done), shownOperations)] {
		b.WriteString(line)
	}
	b.Write(versionTable(s))
	return b.Bytes()
}

// shownOperations is the number of operations in the README.
const shownOperations = 50

// doneLine returns the line of one operation. It holds no human-written text, and is code, so that
// a forge makes no links or mentions of it.
func doneLine(op oplog.Op, when time.Time) string {
	return fmt.Sprintf("- %d, %s: `%s`\n", op.Seq, when.Format("2006-01-02"), op.Subject())
}

// doneBefore returns the lines of the cached operations up to at, newest first.
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
		if op, err := oplog.ParseChecked(raw); err == nil { // a malformed operation had no effect
			done = append(done, doneLine(op, op.Time))
		}
	}
	return done
}

// promised turns NotFound for an object that a log promises into Network: the host hides it, or
// lost it.
func promised(err error, what string) error {
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.Network, "%s: the registry lacks it, although its log names it: %w", what, err).
			Advise("ask the owners of the registry; a mirror may have it")
	}
	return err
}
