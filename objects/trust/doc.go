// Package trust decides whose key signed an item and whether the user trusts that key
// there.
//
// A key is believed for a namespace in a space, never globally, and only the
// user's own file trust.yaml (docs/format/trust.md) says so: nothing that a
// repository contains can widen it. Verify is the one way from an objects.Item,
// which anybody may have written, to a Verified, which may be used; files that
// are covered by a signed manifest take the other way, VerifyBundle.
//
// The package also keeps what trust is made of: Ed25519 keys in OpenSSH's form
// (FileKey, AgentSigner), the signatures that git understands (SignCommit,
// VerifySSHSIG), and the trust store itself.
//
// # Reasons
//
// Signatures are verified one by one with crypto/ed25519 and nothing of our own, because
// everything rests on that answer. Tables of a key's multiples were measured and left out:
// 0.16 s instead of 0.39 for 10,000 signatures by one key, which is a fifth of checking a
// project of that size. Verifying in batches accepts some signatures that fail one by one.
//
// A grant in trust.yaml names a place and a project id. An id alone is a clone's claim,
// and a path alone is any directory that lies there tomorrow. docs/rationale.md has the
// price.
//
// The trust statement covers declared signers and no items. A digest over items would
// change daily and people would stop looking. A digest over declared signers changes when
// a new signer is to be trusted, and that is the question. Part digests are made from
// another text than whole ones: otherwise a statement with one signer would be its own
// part, and accepting that part would grant the user's own keys too.
//
// A signer counts when it is declared and granted. Grants alone would keep a colleague's
// key alive in a project that dropped it, and a declaration alone would be the clone's
// word. The user's own keys need no declaration: a merge must not stop their items.
//
// `--yes` pins no key: it shows that a person agrees, not that the person looked. A
// fingerprint on the command line had to come from the owner, or from a person who
// compared it.
//
// A rotation keeps the name of the signing key filled: the old file is copied to its
// retired name and the new one renamed over it. Registries are told before that, so an
// interrupted rotation leaves the old key, which can finish it, and a .next file that the
// same command picks up. The old key stays among the user's own, so that free namespaces
// need no new signatures. After a theft the user needs `rye trust deny`, and the help says
// so.
//
// A retired key is accepted for the digests that were logged or listed for it. Its holder
// writes dates and locks, and can perhaps write the record too, so none of these is
// evidence. For a published item the evidence is a list beside the trust store, taken from
// the verified log. For the user's own items the rotation reads the files and everything
// that the record held, and pins the SHA-256 list in the trust store: 72 bytes a file,
// read only when a retired key is met. A file that the rotation did not see is refused and
// has to be signed again; that is the price, on the day of a rotation.
//
// A registry's address and scopes are granted for each directory. Once for all projects,
// one line of a clone could give a namespace away everywhere. The binding of a namespace
// to keys is one for the user, because "whose is acme" must have one answer.
//
// A registry's revocation reaches only its own namespaces. Otherwise any registry could
// take back the user's own key by naming it. The log positions in a lock are compared and
// shown, but they accuse no one: a lock comes with the clone, and an edited one could make
// an honest registry look like a forger.
//
// Only the user's own key may sign an override. A teammate's override of a system item is
// signed again by the user: an override means that one person on this machine meant it.
//
// trust.yaml is refused as a whole when an entry cannot be read, because that entry may be
// a denial.
//
// Weak keys are refused where a key enters: the type PublicKey cannot hold one. Go's
// Ed25519 accepts the identity as a public key, and then one signature holds for every
// message. A Jacobi symbol (math/big, 8 µs) decides whether the point is on the curve,
// since the standard library does not say. The public half of a key file is derived again:
// x/crypto takes it from the file, and a signature with a wrong public half gives the
// private one away.
//
// Verify takes the file apart a second time, because any caller can fill an objects.Item,
// and buffers are reused. It costs 6 µs beside 35 µs for Ed25519. The gates are one list:
// Verify stops at the first that refuses and Explain uses the same functions. Their order
// is part of the interface: unsigned comes before unknown, and denied before everything
// else about the key.
//
// Signatures of commits have a reader of our own, 120 lines and fuzzed. Sigstore's package
// cannot read them, OpenSSH's reader accepts hashes and key types that we exclude, and a
// lenient armor gives one signature many spellings and a commit many ids. RYE OS's TOML,
// five fields and one table, is read by 80 lines in place of a library.
//
// allow_legacy is stricter than RYE OS, whose line covers only the <directive> element.
// Front matter or text beside a genuine element could be read in its place, so the element
// must be the whole file.
package trust
