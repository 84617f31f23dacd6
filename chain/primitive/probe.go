package primitive

// Report describes the sandbox on this machine, as tried out.
type Report struct {
	Tier     Tier  // the tier of Best
	Landlock int   // version of the kernel's interface; 0 when there is none
	Acts     []Act // each forbidden act that was attempted inside it

	// Deeper is the same for S3. NoDeeper is the reason why S3 is not available.
	Deeper   []Act
	NoDeeper string
}

// Act is one forbidden act and its outcome.
type Act struct {
	Name    string // "read a file outside"
	Refused bool
	Answer  string // the kernel's error, or "allowed"
}

// Probe attempts each act that S2 forbids, inside such a sandbox, and reports the outcomes. It
// changes nothing outside a temporary directory. It takes some milliseconds, and more if S3 is
// available. Below S2 it attempts nothing, and Acts is empty.
func Probe() (Report, error) { return probe() }
