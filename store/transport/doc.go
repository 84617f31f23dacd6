// Package transport moves objects between repositories: it lists the refs of a remote,
// fetches, pushes, and serves local repositories to this process.
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
// No answer of a remote is trusted: packet lengths, ref names, ids and texts are checked,
// every wait has a deadline and every stream a bound, a pack lands in the quarantine of
// store.Repo.Import, and it is refused unless it holds the requested objects.
// docs/format/wire.md lists the parts of git's protocol that are used.
//
// # Reasons
//
// The client is our own. go-git 5 fetches in protocol version 0 only, which lists every
// ref of a registry before the first object, and it cannot filter. git can do both, but
// costs a chain of processes for each exchange and has to be installed. The packet reader
// is our own because go-git's refuses the delimiter 0001 of version 2, takes "ERR " in
// pack data for an error, and prints packets on GIT_TRACE_PACKET; packp adds 0.35 ms of
// start and 1 MB. go-git is an independent peer in the tests. This package costs as much
// as net/http.
//
// A fetch is one round, with all haves and done: the caller knows the tips that it
// verified, and registries are linear. A server that does not know them sends too much,
// never too little. A filter is a wish: a server that cannot filter sends everything, and
// Stats.Filtered shows it.
//
// The abilities of a host are remembered as a hint, which saves a request of 3.3 ms in a
// fetch of 8. A hint grants nothing: a wrong one costs a second try.
//
// A publisher hands PushObjects the list of objects that it made. Finding out what a
// remote lacks means reading 50,000 commits and trees again, half the time of a large
// publication. A remote left with a hole refuses. For more than 256 objects the pack's
// index is held in memory and the pack is read once, in its order.
//
// Large pushes are chunked first and spooled second: a chunked pack needs no disk here,
// and the remote indexes it meanwhile. CGI servers that refuse bodies of unknown size get
// it again from a temporary file. After a broken connection a pack is not sent again if it
// was sent completely, because the remote may have acted on it.
//
// Only the first request follows a redirect, and no credentials cross to another host:
// otherwise a registry could choose where a push with the user's rights goes. A token
// waits for 401, so a public host does not learn who reads, and an expired token blocks no
// public reading. After 403 or 404, by which some hosts hide private repositories, a token
// that was handed in is tried once.
//
// The server allows any want, runs no hooks and reads no configuration. allow-reachable
// needs a walk for each request, which a client can make expensive, and protects nothing
// once an id is known. The repository is the unit of reading rights. Hooks and
// uploadpack.packObjectsHook are programs of other people.
//
// A connection in version 2 is kept between operations, since a handshake over ssh or TLS
// costs more than an exchange. Only operations that change nothing are tried again on a
// new one.
package transport
