// Package transcript is the searchable text of a project's threads, turn by turn, made
// from their journals and nothing else.
//
//	Open      looks at every journal, and reads the part that was added since
//	Shelf     all turns: their words for an index, their texts for a closer look
//	table     where the turns of each journal lie; kept in the cache, and made anew from journals
//
// docs/format/search.md has the rules of the search.
//
// # Reasons
//
// The table of turns trusts the size and time of a journal, as git's index does for files, but only
// to leave a journal unopened: each turn shown is read and verified from the sum before it.
// Directive, status and id are not words of a turn: the status changes while the turns stay the
// same, and the name of a directive would find all its turns. A query that names such a field gets
// a source that adds them (fields.go).
package transcript

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"

	"github.com/rye-os/rye/agent/journal"
)

// Options of Open.
type Options struct {
	Dir   string                   // the directory that contains a directory for each thread
	Cache string                   // a directory that may be deleted at any time; "" for none
	Stem  func(word string) string // of a folded word
	Say   func(text string)        // reports slow work; may be nil

	// Begun reads and verifies the beginning of a thread. A thread that never began is
	// fault.NotFound.
	Begun func(ctx context.Context, dir string) (Begun, error)
}

// Begun is the beginning of a thread.
type Begun struct {
	Directive string // a ref
	Parent    string // the thread that started it; "" for none
	Starter   string // name of the caller
}

// Thread is a thread whose journal was read.
type Thread struct {
	ID string
	Begun
	State  State  // according to its journal alone
	Damage string // why the rest of its journal is not read; usually ""

	size, changed int64         // size and time of the journal's file at the last look
	end           journal.Place // the end of the part that was read
	turns         []turn
}

// turn is a part of a journal: the consecutive records of one turn.
type turn struct {
	number  int
	records int64
	bytes   int64
	time    int64    // of the last record, in microseconds
	sum     [32]byte // of the last line, and so of all lines before it
}

// State is the state of a thread at the end of its journal. For a thread without an end, only the
// lease shows whether a process runs it.
type State struct {
	End       End
	Asks      bool // a question to the user is open
	Suspended bool
}

// End is the way a thread ended.
type End byte

// The ends.
const (
	None End = iota
	Completed
	Failed
	Cancelled
	Killed
	ends
)

// add updates the state with a record.
func (s *State) add(r journal.Record) {
	s.Suspended = r.Type == journal.Suspended || s.Suspended && r.Type == "journal_repaired"
	switch r.Type {
	case "approval_requested":
		s.Asks = true
	case "approval_answered":
		s.Asks = false
	case journal.Completed:
		s.End = Completed
	case journal.Failed:
		s.End = Failed
	case journal.Cancelled:
		var how struct{ Killed bool }
		if s.End = Cancelled; json.Unmarshal(r.Data, &how) == nil && how.Killed {
			s.End = Killed
		}
	}
}

// The bits of a state in the table.
const (
	endBits           = 7
	asksBit           = 8
	suspendedBit      = 16
	endedBit          = 32 // of a journal with a final record
	bits         byte = 63
)

// layer distinguishes these turns from other indexed texts, and one version of their reader from
// the next.
const layer = "turns of threads 1\n"

// place is the path of the table; "" without a cache. Indexes are in the same directory.
func (o *Options) place() string {
	if o.Cache == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(layer + o.Dir))
	return filepath.Join(o.Cache, "search", "threads-"+hex.EncodeToString(sum[:16]), "turns")
}

// dir returns the directory of a thread.
func (o *Options) dir(id string) string { return filepath.Join(o.Dir, id) }
