// Package export writes verified copies of the project's skills where clients read them, keeps
// them in step with the items, and shows what differs.
//
// # Reasons
//
// A copy is written only from bytes that verified in this run. rye replaces a file only if its
// bytes are those that this user's rye wrote, or an export of a version that verifies. The memory
// of that lies with the user's record: a file of a clone that claims to be rye's changes nothing.
//
// Directories of clients are opened name by name without following a link, and everything else
// happens below the opened directory. A link that appears meanwhile leads nowhere.
//
// Copies are tracked by git like other files, so that colleagues without rye have them. They are
// copies and not links by default, because git writes a link as a text on most Windows machines.
package export
