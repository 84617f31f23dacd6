// Package author makes, adds, signs, moves and removes items and bundles, and records
// every change. It also takes in files that were written for other programs.
//
// # Reasons
//
// `sign --all` skips a bundle with a new executable: a person signs executables that they
// looked at, and no one looks at a list of names afterwards.
//
// A list of refs counts as a pattern when another author's work is signed. The shell
// expands `rye sign .ai/tools/*/*`, and --yes would then answer for items that no one
// named. So only a request for one target replaces another author's signature. An edited
// item of a colleague is another matter: its line no longer holds.
//
// Above 64 files a signing is not synced file by file: the commit carries the same bytes
// and is synced as one pack, and `rye restore` brings back any file that a power cut took.
package author
