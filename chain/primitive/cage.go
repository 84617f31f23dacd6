package primitive

import (
	"sync"

	"github.com/rye-os/rye/chain/primitive/cage"
)

// RunFiles and RunTemp are where a program under S3 has the files of its run, and its own
// temporary ones.
const (
	RunFiles = cage.FilesDir
	RunTemp  = cage.TempDir
)

// Cage is the program that makes namespaces, for S3.
type Cage struct {
	Program string // absolute path of rye-cage
	Build   string // of which it must be

	// Memo is a file, in a directory that only the user writes, which remembers what came
	// of making namespaces since this system was started; "" for none.
	Memo string

	// Keep has the next one started whenever one is taken, as suits a program that runs tool
	// after tool. One that nobody wants ends after some seconds.
	Keep bool
}

// cageUsed returns what UseCage said.
var cageUsed = func() Cage { return Cage{} }

// UseCage says how to find rye-cage, which is done when it is needed first. Programs call it
// once, before they run anything; without it, or where find returns no program, there is no
// S3.
func UseCage(find func() Cage) { cageUsed = sync.OnceValue(find) }

func cageProgram() string { return cageUsed().Program }

// Foresee says which tier a program would get in this sandbox, and what would not bind, as
// Result does after the run: so that a person who is asked before it knows.
func Foresee(s Sandbox) (Tier, []string) {
	if s.Tier == 0 {
		s.Tier = Best()
	}
	return s.Tier, foresee(&Call{Sandbox: s})
}
