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
// The table of turns trusts size and time of a journal, as git's index does of files, and
// only to leave a journal unopened: each shown turn is read and verified from the sum
// before it. Directive, status and id are no words of a turn: a status changes while its
// turns do not, and a directive's name would find all of them. A query that names such a
// field gets a source with them put in (fields.go).
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
	Dir   string                   // each thread has a directory in it
	Cache string                   // for what may be deleted at any time; "" for none
	Stem  func(word string) string // of a folded word
	Say   func(text string)        // what takes long; may be nil

	// Begun reads and verifies what a thread began with. fault.NotFound is one that never began.
	Begun func(ctx context.Context, dir string) (Begun, error)
}

// Begun is what a thread began with.
type Begun struct {
	Directive string // a ref
	Parent    string // the thread that started it; "" for none
	Starter   string // name of the caller
}

// Thread is one whose journal was read.
type Thread struct {
	ID string
	Begun
	State  State  // by its journal alone
	Damage string // why its journal is not read further; "" for most

	size, changed int64         // of the journal's file when it was looked at last
	end           journal.Place // what of it was read
	turns         []turn
}

// turn is a part of a journal: the records of one turn that follow one another.
type turn struct {
	number  int
	records int64
	bytes   int64
	time    int64    // of the last record, in microseconds
	sum     [32]byte // of the last line: it stands for all before
}

// State is what the last words of a journal about the thread are. Whether a process runs one that
// has no end only its lease says.
type State struct {
	End       End
	Asks      bool // a question to a person is open
	Suspended bool
}

// End is how a thread ended.
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

// add takes a record in.
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

// The bits of a state in a file.
const (
	endBits           = 7
	asksBit           = 8
	suspendedBit      = 16
	endedBit          = 32 // of a journal that has its final record
	bits         byte = 63
)

// layer tells these turns from all other things that are indexed, and one way to read them from
// the next.
const layer = "turns of threads 1\n"

// place is the file of the table; "" where there is no cache. Indexes lie beside it.
func (o *Options) place() string {
	if o.Cache == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(layer + o.Dir))
	return filepath.Join(o.Cache, "search", "threads-"+hex.EncodeToString(sum[:16]), "turns")
}

// dir is the directory of a thread.
func (o *Options) dir(id string) string { return filepath.Join(o.Dir, id) }
