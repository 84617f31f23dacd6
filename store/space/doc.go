// Package space resolves a name through the project, user and system spaces to one
// verified item.
//
// A space is an .ai directory that people edit (the working tree) over a git ref that
// remembers what was there (the record). Resolution takes the first space that holds the
// name at all: a file there that does not verify is refused, never skipped in favour of a
// weaker space.
//
// Reading needs no key, no lock and no writable disk. Only Record writes.
//
// # Reasons
//
// A file answers for its name. If resolution went on, damage to a project's own safe item
// would silently bring back a weaker one. For the same reason a recorded file that is
// missing is deleted, not absent, and two files for one ref are a conflict. A file that
// vanished is looked for again, and then asked of the record: an editor's rename must not
// let the user's item answer.
//
// The record is memory, not trust. Items enter it signed or not, and every use verifies
// the working file anew. The record adds what a signature cannot know: whether these bytes
// were replaced before. Older items run, because git switches working trees daily and
// people would turn off a check that refuses them. A rollback is refused where it gains
// something: more rights (policy.Wider), a removed version, a denied one. signed_at alone
// orders, among recorded versions that verify now, since an attacker can choose version
// texts. Here are the facts (Past); the session sets the rule for its caller.
//
// Names of working files are waited for, too: sign, add, restore, rm and mv report success
// when the folders are synced. After a power cut an unsynced folder loses a new file and
// brings back a removed one. The bytes of more than 64 files of one commit are not waited
// for, because the record has them.
//
// Known extensions are probed before a folder is listed: eight lstat calls cost the same
// in any folder.
//
// Lists answer from a catalogue and uses never do. Reading and verifying 10,000 files
// takes 990 ms of processor time, the catalogue 27. A row holds no trust.Verified, so
// nothing from it can run. A row trusts a file's size, times and inode by git's rule for
// its index; an attacker who forges these and the checksum can make a list wrong and
// nothing else. Everything else that a verdict depends on is in one key, and another key
// discards the whole file, at the price of one slow list. Rows stay bytes, since decoded
// rows are 8 MB that rye status throws away; the whole file is checked when it is opened,
// so making a row cannot fail. The file is read and not mapped: mapping saved 1 to 4 ms,
// and a mapped file that is cut short ends a Go program with SIGBUS.
//
// A clean file costs one fstatat in its open folder and a comparison of 32 bytes.
// os.File.ReadDir and os.Root walk the whole path for each name, which was half of the
// time. Files are opened with openat2 beneath the root, without links in the last place;
// any doubtful answer is asked of os.Root, which decides. Listing begins before a verb
// needs it (Layer.Begin), because trust, settings and lock are read on one processor
// meanwhile.
//
// .ai/denied lies in the tree and is accepted, because the signer of the item signs each
// line: a clone can only take trust away. Lines by known keys are kept with the user,
// since a branch from before the line would take it back. Lines by other keys are not
// kept: anyone could fill the file with them.
//
// A commit holds the changes that were asked for. Looking at every file with each commit
// cost 6 ms, and a process that had looked a moment earlier put an older version over a
// newer record. `rye trust` and `rye sign --all` look at everything anyway and record it.
// A change can say which version it replaces (store.Change.Was) and is left out where that
// is no longer so.
package space
