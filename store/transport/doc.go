// Package transport moves objects between repositories: it lists the refs of a
// remote, fetches, pushes, and serves repositories of its own.
//
// Dial accepts http and https addresses, git://, ssh (ssh:// and host:path) and
// local directories. Everything is spoken by this package itself, in Go: no
// git program has to be installed. Only ssh runs another program (ssh), and
// git, when its path is handed in, is asked for credentials and nothing else.
//
// Fetching uses protocol version 2 (ls-refs with ref-prefix, want by id,
// filters where offered), so what travels does not grow with the number of
// refs of the remote. With servers that answer in version 0 or 1 it falls back
// to the older exchange. Pushing uses receive-pack as every host speaks it.
//
// What a remote says is never believed: packet lengths, ref names, ids and
// texts are checked, every wait has a deadline and every stream a bound, a
// pack lands in the quarantine of store.Repo.Import, and it is refused unless
// it holds what was asked for. docs/format/wire.md lists the parts of git's
// protocol that are used.
package transport
