package primitive

// Report says what a sandbox is worth on this machine, found out by trying.
type Report struct {
	Tier     Tier  // what Best gives
	Landlock int   // version of the kernel's interface; 0 when there is none
	Acts     []Act // each forbidden act that was attempted inside

	// Deeper is the same for S3, and NoDeeper why there is none here.
	Deeper   []Act
	NoDeeper string
}

// Act is one forbidden act and what came of it.
type Act struct {
	Name    string // "read a file outside"
	Refused bool
	Answer  string // the error that the kernel gave, or "allowed"
}

// Probe attempts each act that S2 forbids, inside a sandbox of the same make, and
// reports what happened. It changes nothing outside a temporary directory and
// takes some milliseconds, some more where S3 can be given. Below S2 it attempts nothing, and Acts is empty.
func Probe() (Report, error) { return probe() }
