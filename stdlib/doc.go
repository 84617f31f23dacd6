// Package stdlib holds the system space: the items that every installation of rye has,
// compiled into the program.
//
// The files below system/ are ordinary items in the layout of an .ai directory. Nothing
// here is believed because it is compiled in: readers hand Files, Manifest and Releases to
// trust.VerifyBundle and use its result, just as for items from a network.
//
// The manifest (docs/format/bundle.md) names every file with its size and SHA-256 and is
// signed by a key that lived for the length of one `make stdlib-sign`. The public half of
// that key, and the manifest's digest, are the last line of the file releases; the private
// half was never written down. So no one, the authors included, can sign another file for
// the manifest of a release.
//
// # Reasons
//
// The library is signed like anything that comes from outside, since a library that is
// trusted for being compiled in would be a bypass. A key that is kept could be stolen or
// demanded, so the key of a release is thrown away. Every release has a new key, which
// costs one line.
//
// The list of releases only grows. A lock pins the manifest of the library that it was
// made with; by the list a newer rye knows that manifest as its own and can use the old
// bytes where they are kept.
//
// One manifest covers all files, and the items have no signature lines. A start verifies
// once, and no one can take a file out, add one, or mix the files of two releases.
//
// Its texts are programs: a model writes a tool after reading one page, and a wrong
// sentence there costs each reader a failed run. So each page shows whole items and
// commands, and a test signs and runs them. The README and the guides are tested the same
// way.
//
// The package imports nothing of rye and hands out bytes. A reader that wants an item gets
// it from the space, which verifies it.
package stdlib
