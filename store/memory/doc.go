// Package memory keeps restrictions that hold in every directory of this user with the
// same project id. It learned them in one of these directories, and it never keeps a
// permission.
//
// It lies in <data>/projects/<project id>/, outside of every directory:
// docs/format/record.md. A project id is a claim, so a restriction binds in a directory
// only where its signer owns the namespace in that directory too: the caller asks trust
// for that.
package memory
