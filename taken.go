package rye

// TakenRequest is about what runs left in a project and rye moved away.
type TakenRequest struct {
	Paths   []string // paths of the project to put back, or directories of them; none shows everything
	Dismiss bool     // end the notices instead; what was moved stays where it is
	DryRun  bool
}

// TakenReport shows notices, or what was put back or dismissed.
type TakenReport struct {
	Notices   []TakenNotice `json:"notices,omitempty"`
	Restored  []TakenInfo   `json:"restored,omitempty"`
	Dismissed []TakenInfo   `json:"dismissed,omitempty"`
	DryRun    bool          `json:"dry_run,omitempty"`
}

// TakenNotice is what one run left.
type TakenNotice struct {
	Tool      string         `json:"tool"`
	At        string         `json:"at"`               // RFC 3339, UTC
	Killed    bool           `json:"killed,omitempty"` // rye was killed during the run
	Dismissed bool           `json:"dismissed,omitempty"`
	Things    []TakenContent `json:"things"`
}

// TakenContent is one moved path with its text.
type TakenContent struct {
	TakenInfo
	Lines []string `json:"lines,omitempty"` // printable, and cut where there are many
}
