package objects

// State is what a working item is, compared with its signature and its record.
type State string

// The states, as rye status prints them.
const (
	Signed    State = "signed"
	Modified  State = "modified"
	Unsigned  State = "unsigned"
	Untrusted State = "untrusted"
	Older     State = "older"    // than the newest recorded version, or there before
	Returned  State = "returned" // it was removed with rye rm, and is back
	Absent    State = "absent"   // recorded, and no file
	Denied    State = "denied"   // by the user, or by its signer in .ai/denied
	Legacy    State = "legacy"
	Malformed State = "malformed"
	Revoked   State = "revoked"
	Drifted   State = "drift" // signed, and not what the lock pins
)
