package objects

// State is the result of comparing a working item with its signature and its record.
type State string

// The states, as rye status prints them.
const (
	Signed    State = "signed"
	Modified  State = "modified"
	Unsigned  State = "unsigned"
	Untrusted State = "untrusted"
	Older     State = "older"    // older than the newest recorded version, or equal to an earlier one
	Returned  State = "returned" // removed with rye rm, and present again
	Absent    State = "absent"   // recorded, but without a file
	Denied    State = "denied"   // by the user, or by its signer in .ai/denied
	Legacy    State = "legacy"
	Malformed State = "malformed"
	Merged    State = "merged"   // by git, from two versions, and not signed since
	Conflict  State = "conflict" // git's marks are in the file
	Revoked   State = "revoked"
	Patched   State = "patched" // signed by the user or a granted contributor, in a namespace that others own
	Drifted   State = "drift"   // signed, but different from the lock's pin
)
