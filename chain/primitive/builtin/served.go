package builtin

// A few functions do not run in a process of their own. They act in the process that was
// asked, through rye's own doors and as whoever asked, once every gate has let the call pass.
// The list is closed, and what they do is not here: whoever opens a workspace hands it in.

// Served is such a function.
type Served struct {
	Tier  int  // the least tier of the policy that a call has
	Reads bool // it changes nothing, and may be done again
}

// served has the functions by name. What looks after threads is named as its items are, below
// rye/agent/, what is about registries as its items below rye/.
var served = map[string]Served{
	"threads/status":          {Tier: 0, Reads: true},
	"threads/wait":            {Tier: 0, Reads: true},
	"threads/read_transcript": {Tier: 0, Reads: true},
	"threads/search":          {Tier: 0, Reads: true},
	"threads/cancel":          {Tier: 1},
	"threads/resume":          {Tier: 1},

	"registry/search": {Tier: 0, Reads: true},
	"registry/info":   {Tier: 1, Reads: true}, // asks hosts that the user agreed to ask
	"registry/add":    {Tier: 1},              // and a person, what is added
}

// ServedOf returns a function that is served, by name.
func ServedOf(name string) (f Served, ok bool) {
	f, ok = served[name]
	return f, ok
}
