// Package oplog says what the operations of a registry's logs mean: who may do what, the
// states, lists and versions that follow, and the operations that are dropped or skipped.
// It is pure.
//
// Parse and ParseRoot read operations; Apply, ApplyAll and Root.Apply apply them. They
// decide by position in the logs, never by a clock or a place. A Pen writes what a reader
// would take. Functions that read objects are given a Reader or a Source, and check the
// results.
//
// docs/format/registry.md describes every byte.
//
// # A new operation
//
// A new kind touches, in this order: op.go (the kind, its trailers, its subject), apply.go
// (keys in follow, catalogue lines in write and statusAfter), quorum.go (Governs),
// propose.go (DescribeOp), the vectors of vectors_test.go, docs/format/registry.md, and in
// package registry Marks or a function of its own that publishes it.
//
// # Reasons
//
// Every message, catalogue line and namespace.yaml has one encoding, and parsing ends by
// encoding again and comparing. It costs microseconds and ends all questions about order,
// escapes and duplicate keys. Even the subject is fixed: a log must not say "fix typo"
// over a revocation. YAML is written by hand here, since the output of a library is no
// format. Reserved words (attest, delegate) are refused by name: a reader that skipped
// unknown operations could be shown half a log.
//
// Positions decide, not dates. git accepts a backdated commit by a retired key. Here an
// operation is judged by its position in a chain of digests, and a revocation names a
// position. Times are for people and age policies, must not go back, and decide nothing.
// An approval names the position and the digest before it and is void after any other
// operation. Its time limit is compared with the commit's own time, so an old agreement
// ends and no reader's clock decides who holds a registry.
//
// Claims are judged by the newest root, later operations by the position that they saw.
// Otherwise a former owner could claim late by naming an early position. A grant for an
// existing log names its genesis, so handing over does not break readers.
//
// The root can only let a key add itself. It cannot write in a namespace. A rescue by the
// root and a transfer by the owners leave a trace in the namespace's log, at which readers
// stop and ask: a stolen key could otherwise hand a namespace on in silence. Keys are
// added with a proof, one line that the new key's owner signs at leisure; root changes
// need approvals of one exact operation.
//
// Changes of keys, transfer and the threshold need the threshold of a namespace, because
// they decide whose it is. Revoke and redact need it because they cannot be undone and
// stop everyone who has the version locked. Publish, deprecate and yank take one
// signature: they are daily work and can be undone. A threshold of one is not written, so
// logs from before thresholds keep their states. Approvals bind the statement and not the
// commit, because the commit has the time of the operation and its author decides when. A
// key that several agreed to stands for itself: if it depended on one of them, the state
// would depend on the committer, which an approval cannot know. The root overrides the
// threshold to rescue a namespace with lost keys, and readers are asked.
package oplog
