package builtin

// A few functions do not run in their own process. They act in the process that received the
// request, through rye's own verbs and as its caller, after every gate has let the call pass. The
// list is closed. The functions themselves are not here: the program that opens a workspace
// provides them.

// Served is such a function.
type Served struct {
	Tier  int  // the least tier of the policy that a call has
	Reads bool // it changes nothing, and may be done again
}

// served has the functions by name. Functions about threads have the names of their items below
// rye/agent/, functions about registries the names of their items below rye/.
var served = map[string]Served{
	"threads/status":          {Tier: 0, Reads: true},
	"threads/wait":            {Tier: 0, Reads: true},
	"threads/read_transcript": {Tier: 0, Reads: true},
	"threads/search":          {Tier: 0, Reads: true},
	"threads/cancel":          {Tier: 1},
	"threads/resume":          {Tier: 1},

	"registry/search": {Tier: 0, Reads: true},
	"registry/info":   {Tier: 1, Reads: true}, // asks hosts that the user agreed to
	"registry/add":    {Tier: 1},              // also asks a person about the items to add
}

// ServedOf returns a served function by its name.
func ServedOf(name string) (f Served, ok bool) {
	f, ok = served[name]
	return f, ok
}
