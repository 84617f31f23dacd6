// Package store keeps git repositories: objects, packs and refs. It knows no items.
//
// Everything on disk is plain git, readable by git and by go-git. The paths that are hot
// or dangerous are this package's own code: reading one object, writing durably, moving
// refs, and taking in packs from outside. docs/format/store.md describes the files.
//
// Reading never writes: Open and every method of Reader work on a read-only disk.
//
// # Reasons
//
// The object layer is our own. go-git decodes a whole pack index at every start (29.7 ms
// for one object of 100,000; git takes 2.5), truncates refs in place (64 of 120 kills left
// an empty ref), never syncs, and can return the bytes of one object under the id of
// another. The formats are simple and frozen. go-git is a second reader in the tests, and
// everything on disk is git's, so leaving this layer means replacing one package.
//
// Git ids are addresses, so ids are plain crypto/sha1: trust rests on an Ed25519 signature
// over SHA-256, checked at every use. A hash that detects collisions costs two to three
// times as much on every read. Only objects that come in are hashed with sha1cd, which
// recognises blocks made to collide, for a few per cent of an import.
//
// Writers hold a kernel lock and git's lock file. The kernel lock serialises rye's
// processes fairly and ends with its holder; git respects only `<ref>.lock`, which stays
// behind after a kill. The record in rye.lock solves that without guesses by age or
// process id: a lock file that equals the record to the nanosecond, while the kernel lock
// is free, belongs to a dead process. So it is written before the file has its name, which
// is why lock files are prepared elsewhere and hard-linked. The record is synced with the
// lock files, and their directories once they are gone, so that no unknown lock comes back
// after a power cut.
//
// Refs keep git's own logs, because anyone may reset or force a push in a store; `git
// reflog` reads them. A line is written before its ref moves: the reverse order could lose
// a move to a kill. HEAD's log is written under HEAD.lock, because git gc rewrites it
// under that lock.
//
// Edit applies changes and not trees, so a commit by plain git in between is no conflict.
// Up to 64 objects become loose files and more become one pack: a pack for each commit
// slows every lookup, and 10,000 files cost 10,000 syncs. The files of a commit are synced
// in parallel, because a journalling file system commits once for all that wait.
//
// A commit makes no file that it can avoid. On ext4 with discard, making a file takes 20
// µs and removing a synced one 60 to 100, as much as a small commit computes. So temporary
// files need no directory while the write lock is held, HEAD.lock is a further name of the
// file that becomes the ref, empty object directories stay, and the number of loose
// objects stands in rye.lock.
//
// Small objects are deflated by hand (deflate.go): 0.8 µs for 300 bytes where the library
// takes 5.8, and 112 ms for a pack of 10,000 items instead of 301. The pack is 29 % larger
// until it is compacted. Deltas are made by hand (delta_make.go), eight to seventeen times
// as fast as go-git's encoder and shorter. Both only write, and fuzz tests have other
// readers take them apart. The library inflates. An inflater of our own saved 15 to 23 %
// of bulk operations, for 417 more lines that read bytes from strangers.
//
// place.Read reads small files in four system calls. os.Open asks to be told when a file
// is readable: six more calls and a waiting thread.
//
// Objects that only a pack has are written again, because `git repack -ad` may drop an
// unreachable object between our look and our ref. New packs carry a .keep until the ref
// has moved, as in git's receive-pack.
//
// Packs are read by pread and not mapped: a file that shrinks under a mapping kills the
// process. Near reads take 64 KB at once. Directories are removed by rmdir: os.Remove also
// removes files, and git may just have put a ref there.
//
// The cost of a pack from outside is bounded by its size, since 2 KB of deltas could make
// 1 GiB. A pack may inflate to 128 MiB and 64 bytes more for each byte received. A delta
// or its base is at most 16 MiB, at most 32 MiB of bases are held, and an object is at
// most 64 times its own size of deltas away from a whole one (git's pack.depth is 50).
// That reasoning can be wrong, and running out of memory ends a Go program. So another
// process reads a pack that may inflate to more than 32 MiB, with kernel limits, no
// environment and a quarantine (apart.go): 4 ms. A pack of at most 256 KiB that inflates
// to no more is read here. A server reads in its own process, since over a plain stream
// only the pack says where it ends.
//
// Compacting never prunes. To decide about garbage one has to know every process that is
// about to move a ref; git guesses by age. It reads back every object that it wrote before
// it removes the other copy. Packs are merged as `git repack --geometric` does. It makes
// deltas, and edits do not, since an edit keeps someone waiting: 500 commits of one item
// are 0.49 MB, as with git gc, and were 4 MB. The order is by path, older versions from
// newer ones, so that the newest, which are read most, stay whole. The newest version of a
// path may still be one delta of a whole file: 10,000 similar tools take 5.0 MB instead of
// 9.4, for 0.093 ms a read instead of 0.084. A turn of a thread is written as deltas at
// once, because it repeats the turn before and is seldom read soon: 1.5 MB for 1,000 turns
// instead of 4.6.
//
// A ref goes back only where a person asked for it. `git gc --prune=now` beside rye can
// remove an object that was just acknowledged, and git has no lock against it. An edit
// looks again when its ref has moved, which leaves only a prune that had read the refs
// before. `rye fsck --repair` moves a ref to the newest whole position in its log; the
// positions that are not whole leave the log, because git's fsck refuses it with them, and
// are kept in rye.lost. A record that goes back forgets which version is newest, so a
// person sees the loss first. A file that cannot be read for any reason but damage moves
// nothing.
//
// A cache does not wait for the disk (cache.go): a push of one item made 20 files durable
// that can be had again, a third of its time. After a restart of the machine a cache is
// looked through once, 20 ms for 20 MB.
package store
