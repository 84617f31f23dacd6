package objects

// State is what a working item is, compared with its signature and its record.
type State string

// The states, as rye status prints them.
const (
	Signed    State = "signed"
	Modified  State = "modified"
	Unsigned  State = "unsigned"
	Untrusted State = "untrusted"
	Older     State = "older"
	Deleted   State = "deleted"
	Legacy    State = "legacy"
	Malformed State = "malformed"
	Revoked   State = "revoked"
	Drifted   State = "drift" // signed, and not what the lock pins
)
