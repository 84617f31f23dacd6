// Package registry shares items through an ordinary git repository, in which a
// namespace is a branch.
//
// The branch main is the root: who holds the registry, and whose each namespace
// is. The branch ns/<namespace> is that namespace's log: empty commits in one line, each
// of them one signed operation, written out in the trailers of its message. An operation
// names what it leads to by SHA-256 and git id: a state, which is the namespace's keys
// and a catalogue of every published version, and the lines of it that it wrote. States
// and versions are commits of their own, which the branch content/<namespace> keeps by
// merges; it proves nothing. So git log reads like a change log, one ref update
// decides, and one item is two lists, a shard and a fetch by id.
//
//	acme: claim ── publish ── yank ──            the log
//	        ⇣         ⇣        ⇣                 names states, by digest
//	      state     state    state ── root list ── lists ── shards
//	                                                           ⇣ names versions
//
// Package oplog says what the operations mean, and package memory keeps what this user has seen
// of them. Registry is the half with effects: Sync
// verifies and remembers, Publish and its kin append, Look, Select and Fetch bring items,
// Verify asks for everything. What a Registry returns is checked against the log, and not
// believed: that is for package trust.
//
// docs/format/registry.md describes every byte.
package registry
