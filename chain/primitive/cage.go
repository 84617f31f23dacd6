package primitive

import (
	"sync"

	"github.com/rye-os/rye/chain/primitive/cage"
)

// RunFiles and RunTemp are the directories of a program under S3: the files of its run, and its
// own temporary files.
const (
	RunFiles = cage.FilesDir
	RunTemp  = cage.TempDir
)

// Cage is the program that makes namespaces, for S3.
type Cage struct {
	Program string // absolute path of rye-cage
	Build   string // which its build must match

	// Memo is a file in a directory that only the user can write to. It remembers, since the
	// start of the system, whether making namespaces works. "" for none.
	Memo string

	// Keep starts the next rye-cage whenever one is used. This suits a program that runs tool
	// after tool. An unused one ends after some seconds.
	Keep bool
}

// cageUsed returns the value from UseCage.
var cageUsed = func() Cage { return Cage{} }

// UseCage sets the function that finds rye-cage. It is called when rye-cage is first needed.
// Programs call UseCage once, before they run anything. Without it, or if find returns no
// program, there is no S3.
func UseCage(find func() Cage) { cageUsed = sync.OnceValue(find) }

func cageProgram() string { return cageUsed().Program }

// Foresee returns the tier that a program would get in this sandbox, and the limits that would
// not bind, as Result does after the run. So a person who is asked before the run knows them.
func Foresee(s Sandbox) (Tier, []string) {
	if s.Tier == 0 {
		s.Tier = Best()
	}
	return s.Tier, foresee(&Call{Sandbox: s})
}
