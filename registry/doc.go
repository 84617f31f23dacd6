// Package registry shares items through an ordinary git repository, in which a namespace
// is a branch.
//
// The branch main is the root: who holds the registry, and whose each namespace is. The
// branch ns/<namespace> is that namespace's log: empty commits in one line, each of them
// one signed operation, written out in the trailers of its message. An operation names its
// result by SHA-256 and git id: a state, which is the namespace's keys and a catalogue of
// every published version, and the lines of it that it wrote. States and versions are
// commits of their own, which the branch content/<namespace> keeps by merges; it proves
// nothing. So git log reads like a change log, one ref update decides, and one item is two
// lists, a shard and a fetch by id.
//
//	acme: claim ── publish ── yank ──            the log
//	        ⇣         ⇣        ⇣                 names states, by digest
//	      state     state    state ── root list ── lists ── shards
//	                                                           ⇣ names versions
//
// Package oplog says what the operations mean, and package memory keeps what this user has
// seen of them. Registry is the half with effects: Sync verifies and remembers, Publish
// and its kin append, Look, Select and Fetch bring items, Verify asks for everything. A
// Registry checks its results against the log; package trust decides about signatures.
//
// docs/format/registry.md describes every byte.
//
// # Reasons
//
// A namespace is a branch, so publishers of different namespaces never meet, a forge can
// protect ns/acme for team acme, and a reader pays for the namespaces that it uses. One
// log for a registry would make every publisher wait and every reader replay everything.
// The price is one order over all namespaces; checkpoints of the root give the part that
// matters: nothing can be hidden.
//
// A log's commits have the empty tree and one parent. With states as trees and versions as
// parents a reader of the log was sent everything ever published, unless the host filters.
// A message names its state and change list by SHA-256: 0.8 KB an operation.
//
// A state is a tree of digests. A reader fetches a root list, a list and a shard, each by
// the git id beside its SHA-256, so SHA-1 decides nothing. Sixteen lists of sixteen
// shards, because one list of 256 writes 27 KB of digests with each operation. The price
// is that a reader no longer recomputes the owners' lines. So a reader that saw a line
// refuses another, a revocation or transfer examines every change list first, and
// `registry verify` does it for all.
//
// Change lists are in the state and named by the log, or an owner could credit a version
// to a long retired key: a line by such a key counts only where its own operation wrote
// it. Versions and states are not signed, since the signed log names them. So one item is
// one commit for everyone, publishing signs once, and mirrors share objects.
//
// The content branch proves nothing: it keeps states and versions from being collected.
// Readers ask by id, and a missing object is an error of the network. It is pushed first,
// so a log never names objects that were not sent. Versions are root commits: they are
// fetched alone by id (1 KB, one round trip), survive a retry unchanged, and a project's
// store can keep one without the registry. Tags exist on demand only: a tag for each
// version makes every push and every listing in version 0 grow.
//
// A mirror is an address, not another registry: every log proves itself, and no one signs
// for a mirror. A mirror that is behind is reported; one that contradicts is a fork. All
// of them are compared by `rye fetch` and at the first contact only, or each command would
// be as slow as the slowest. Writing goes to one address, since two would be two logs.
//
// A publisher that was not first fetches log and content in one request, bounded at 1 MiB.
// Of twenty publishers into one namespace nineteen try again, and a slow try is overtaken:
// with six requests twenty into one took 3.8 times as long as into twenty, with three 2 to
// 3 times.
//
// A publisher reads an item twice. Ten thousand verified items in memory took a
// publication to 260 MB, so of each only the catalogue line is kept. Its file is read
// again, and refused with everything else if its digest changed. Signatures of an agent or
// a key service are verified before use; a key in memory was compared with its public half
// when it was loaded.
//
// The memory of a log is kept as lines and not as YAML, which takes 0.2 ms of each
// command; text that rye would not write is refused. A pack of at most 256 KiB that
// inflates to 32 MiB is read in this process, since a process of its own costs 8 ms.
//
// A location of a namespace is a proposal by the root, whose host may belong to other
// people. If it were followed, readers could be led to open their files, start ssh, or ask
// hosts behind their firewall. So these addresses have to be typed by the user; --yes is
// not enough.
//
// A registry is made for some 2,000 namespaces (TestScale, RYE_SOAK=2). With 2,000 of 500
// items, every push begins with 274 KB of branches, the root's tree has 270 KB, and a
// first contact takes 1.6 MB and 3.2 s. A registry with tags should stay below 300,000 of
// them: a reader takes 64 MiB of an advertisement. A locator over 50 repositories has a
// root of 100,000 grants, a log of 121 MB, and a replay whose work grows with the square:
// for that the root's state would have to be a tree of digests.
//
// The cache lies outside the store: filtered fetches leave commits without trees, which
// git's fsck and repack must not meet. README.md of the root is fixed, since free text
// there would be the one part that a reader could not predict.
//
// `registry hook` runs the rules of readers on the host's own objects, so the cost of a
// push follows its size. Readers verify all the same. It reads the published content,
// because a log that names absent content is worse than a refused push. Refs that are no
// registry's are left alone.
package registry
