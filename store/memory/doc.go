// Package memory keeps what a user learned in one directory of a project and what holds in
// every directory of that user that states the same project id: restrictions, never
// permissions.
//
// It lies in <data>/projects/<project id>/, outside of every directory: docs/format/record.md.
// A project id is a claim, so what is kept here binds in a directory only where its signer
// owns the namespace in that directory too: the caller asks trust for that.
package memory
