package rye

import (
	"github.com/rye-os/rye/fault"
)

// DoctorCheck is one finding of Doctor or Fsck.
type DoctorCheck struct {
	Name string     `json:"name"`
	OK   bool       `json:"ok"`
	Text string     `json:"text"`
	Mend fault.Hint `json:"mend,omitzero"` // what to do about it; may be set when OK is
}

// GCRequest says how to collect garbage.
type GCRequest struct {
	DryRun bool // say what would be done, and do nothing
}

// GCReport is what GC did in one place, or with DryRun would do.
type GCReport struct {
	Place   string `json:"place"`   // "project space", "user space", "registry caches", "runs", "temporary files"
	Dir     string `json:"dir"`     // where that is
	DryRun  bool   `json:"dry_run"` // nothing was done
	Loose   int    `json:"loose"`   // objects that were files of their own
	Packs   int    `json:"packs"`   // packs that were put together
	Objects int    `json:"objects"` // in the new pack; 0 when there was nothing to do
	Before  int64  `json:"bytes_before"`
	After   int64  `json:"bytes_after"` // 0 with DryRun
	Left    int    `json:"left"`        // loose objects that no ref reaches, left as they are
	Moves   int    `json:"moves"`       // moves of refs older than 90 days, dropped from their logs
	Removed int    `json:"removed"`     // leftovers of dead processes
	Text    string `json:"text"`        // the same for people
}
