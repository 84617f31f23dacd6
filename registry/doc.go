// Package registry shares items through an ordinary git repository, in which a
// namespace is a branch.
//
// The branch main is the root: who holds the registry, and whose each namespace
// is. The branch ns/<namespace> is that namespace's log. Each of its commits is
// one signed operation, written out in the trailers of its message; its tree is
// the state that follows, and nothing else: the namespace's keys and a catalogue
// of every published version. Each published version is a commit of its own that
// holds just that file, a further parent of the operation that published it. So
// git log --first-parent reads like a change log, publishing is one ref update,
// and one item is one fetch.
//
//	acme: claim ── publish ── yank ──          first parents: the log
//	                 ├─ content of acme/tool/hi@1.0.0
//	                 └─ content of acme/tool/ho@1.0.0
//
// The package has a pure half and a half with effects. The pure half reads
// operations (ParseOp, ParseRootOp) and applies them (Apply, Root.Apply): it
// decides who may do what by position in the logs, never by a clock or a place.
// The other half is Registry: Sync verifies and remembers, Publish and its kin
// append, Select and Fetch bring items. What a Registry returns is checked
// against the log, and not believed: that is for package trust.
//
// docs/format/registry.md describes every byte.
package registry
