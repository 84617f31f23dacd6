package rye

// ResolveRequest selects the unmerged files to resolve; none selects all below .ai.
type ResolveRequest struct {
	Targets []Target // refs, files or directories
	DryRun  bool     // say what would be done, and do nothing
}

// ResolveReport is the outcome of a resolution. With files that are left it is returned beside
// a fault.Conflict error.
type ResolveReport struct {
	Files []ResolvedFile `json:"files,omitempty"`
	Left  int            `json:"left"`           // files for the user to finish
	Sign  []string       `json:"sign,omitempty"` // refs of merged items, which nobody has signed
	Next  string         `json:"next,omitempty"` // the git command that ends the merge or rebase; "" for none
}

// ResolvedFile is one file of a resolution.
type ResolvedFile struct {
	Path   string `json:"path"`
	Ref    string `json:"ref,omitempty"`
	Status string `json:"status"` // resolved, merged, conflict, left
	Why    string `json:"why,omitempty"`
}
