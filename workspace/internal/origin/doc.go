// Package origin brings foreign content from its sources, remembers where it came from, and brings
// its later versions.
//
// A source is a git repository, by its address (objects.Source). docs/format/origin.md is normative.
//
// # Reasons
//
// A host can give any answer. So nothing that it says is taken for more than it is: the ids of git
// bind the content of a commit and its history, a pinned commit binds the content of a bundle, and
// a pinned key binds the next commit. What a host says about the newest commit is only what it says.
//
// Forges keep the commits of all forks of a repository in one place, and serve each by its id. A
// commit that a person gave by its id therefore has to be in the history of a branch or a tag:
// otherwise a stranger's commit could pass for one of the repository.
//
// What rye remembers about a source lies in the record of the directory, with the user. A manifest
// that came with a clone is a claim: it leads nowhere before a person agreed to contact its source.
package origin
