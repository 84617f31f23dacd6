package look

import (
	"bytes"
	"fmt"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
)

// maxUncovered bounds the number of shown lines that a signature does not cover.
const maxUncovered = 40

// Replaced describes RYE OS's signature line of an item, and whether it held.
func Replaced(st *trust.Store, it *objects.Item, in trust.Scope) *rye.Replaced {
	l := it.Legacy
	r := &rye.Replaced{Key: l.Key, Covers: l.Covers, Uncovered: uncovered(it)}
	standing := st.Standing(it, in)
	r.Standing, r.Held, r.Why = string(standing), standing == trust.Holds, why[standing]
	if standing == trust.NotSigned {
		r.Covers, r.Why = "nothing", l.Unsigned
		return r
	}
	r.SignedAt = l.SignedAt.UTC().Format(time.RFC3339)
	return r
}

// why explains each standing but the good one.
var why = map[trust.Standing]string{
	trust.Unchecked: "its key is not known here; the digest matches",
	trust.Changed:   "the text changed since it was signed",
	trust.Forged:    "the signature is not by that key",
	trust.Denied:    "this content or its key was denied here",
	trust.Unread:    "the item does not match its bytes",
}

// uncovered lists the lines of the body outside RYE OS's hash, with their numbers in the file.
// It leaves out blank lines.
func uncovered(it *objects.Item) []string {
	from, to := 0, 0
	if p := it.Legacy.Payload; len(p) > 0 {
		if from = bytes.LastIndex(it.Body, p); from >= 0 {
			to = from + len(p)
		} else {
			from = 0
		}
	}
	before := bytes.Count(it.Raw[:signedAt(it)], []byte("\n")) // lines before the signature's
	var all []string
	more, at, n := 0, 0, 0
	for line := range bytes.Lines(it.Body) {
		if n++; n == before+1 {
			n++ // the signature's own line
		}
		text := bytes.TrimSpace(line)
		start := at + bytes.Index(line, text)
		at += len(line)
		if len(text) == 0 || start >= from && start+len(text) <= to {
			continue
		}
		if len(all) == maxUncovered {
			more++
			continue
		}
		all = append(all, fmt.Sprintf("%d: %s", n, words.Clip(string(text), 120)))
	}
	if more > 0 {
		all = append(all, "... and "+words.Plural(more, "more line"))
	}
	return all
}

// signedAt returns where the signature line begins: the line of the first byte in which file
// and body differ.
func signedAt(it *objects.Item) int {
	i := 0
	for i < len(it.Body) && i < len(it.Raw) && it.Raw[i] == it.Body[i] {
		i++
	}
	return bytes.LastIndexByte(it.Raw[:i], '\n') + 1
}
