// Package rye is the vocabulary: the types with which a program calls rye and is answered.
// These are requests and reports, the caller, the question to a person, and the states of
// an item. It has no behaviour. The verbs are methods of a workspace.Workspace; errors are
// matched by their code with package fault.
//
// # What rye is
//
// Agents run on instructions, scripts and know-how. rye keeps them in one .ai directory as
// three kinds of items: directives (workflows that a model follows), tools (programs and
// requests) and knowledge (facts for the model); config items drive rye itself. An item is
// a file. Its kind, its path and so its id are a Ref, such as tool:acme/hello.
//
// Every item is signed with an Ed25519 key, in a line of the file itself. Nothing that is
// unsigned, altered or signed by a key that does not count for this id in this place is
// ever used, for any caller: verification has no switch.
//
// Items lie in three spaces, each a layer over the next: the project's .ai, the user's,
// and the standard library, which is compiled in. The first that has a ref answers for
// it. What a space held is recorded as signed commits of a git repository, which plain
// git reads. A lock pins what a project uses, by digest, down the whole chain from a tool
// through its runtime to the primitive that starts a process or asks a web service.
//
// Items are shared through registries: ordinary git repositories in which every
// namespace is a signed log.
//
// # How it is called
//
//	w := workspace.Open(workspace.Options{Project: dir, ConfigDir: config, StateDir: state, CacheDir: cache})
//	ref, err := w.Ref(ctx, rye.Terminal(), "tool:acme/hello")
//	…
//	res, err := w.Execute(ctx, rye.Terminal(), rye.ExecuteRequest{Ref: ref})
//	if fault.Is(err, fault.Untrusted) {
//		fmt.Println(err, "; try:", fault.HintOf(err))
//	}
//
// Each verb takes a context, a Caller and one request, and returns one report. The
// Caller decides which capabilities hold: Terminal is the person who owns the keys, Client
// an MCP client, Program any other program with the capabilities that it is given. What
// only a person may decide is put to Options.Consent as a Question; without a person to
// ask the answer is no.
//
// # Reading a request or a report
//
// A field of a request says what its zero value means; one that says nothing has to be
// set, or is false for no. With DryRun a verb changes nothing and reports the changes that
// it would make; it reads, asks the network, and refuses as it would otherwise.
//
// Reports belong to the caller. They have JSON names: the command line prints them with
// --json as they are, and docs/cli names every field. Where nothing else is said, a verb
// that returns an error returns a nil report; some return the work done until then, and
// say so. A slice may be nil where it is empty. In reports
//
//   - times are RFC 3339, in UTC, with seconds;
//   - SHA256 is "sha256:" and 64 lower-case hexadecimal digits, of every byte of the file;
//     a Verdict has the digits alone;
//   - keys are fingerprints, "SHA256:" and 43 letters, as ssh-keygen -l prints them;
//   - ids of commits are 40 hexadecimal digits;
//   - a project is its id, 32 hexadecimal digits; a registry is its identity, "sha256:"
//     and 64 digits;
//   - a ref is written <kind>:<id>, a published name <namespace>/<kind>/<rest of the id>;
//   - sizes are bytes.
package rye
