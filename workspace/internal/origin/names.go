package origin

import (
	"maps"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

const (
	branches = "refs/heads/"
	tags     = "refs/tags/"
)

// target is the answer of a host about a ref.
type target struct {
	ref string    // full name; "" for a commit that was given by its id
	tip store.OID // the object that the ref names: a commit or an annotated tag
}

// prefixesFor returns the refs to ask a host for.
func prefixesFor(ref string) []string {
	switch {
	case ref == "":
		return []string{"HEAD", branches}
	case objects.CommitID(ref):
		return []string{branches, tags}
	case strings.HasPrefix(ref, "refs/"):
		return []string{ref}
	}
	return []string{branches + ref, tags + ref}
}

// resolve finds the ref of a source among those of its host. One name for a branch and a tag is
// refused, even where both name one commit today: tomorrow they may not. The id of a commit is never
// the name of a branch.
func resolve(src objects.Source, refs map[string]store.OID, head string) (target, error) {
	switch {
	case objects.CommitID(src.Ref):
		id, err := store.ParseOID(src.Ref)
		return target{tip: id}, err
	case src.Ref == "":
		return defaultBranch(src, refs, head)
	case strings.HasPrefix(src.Ref, "refs/"):
		if id := refs[src.Ref]; !id.IsZero() {
			return target{src.Ref, id}, nil
		}
		return target{}, noRef(src, src.Ref)
	}
	branch, tag := refs[branches+src.Ref], refs[tags+src.Ref]
	switch {
	case !branch.IsZero() && !tag.IsZero():
		other := src
		other.Ref = tags + src.Ref
		return target{}, fault.New(fault.Conflict, "%s: %s is both a branch and a tag there", words.Brief(src.Address), words.Quote(src.Ref)).
			Advise("rye add %s for the tag, or with %s for the branch", words.Quote(other.String()), branches+src.Ref)
	case !branch.IsZero():
		return target{branches + src.Ref, branch}, nil
	case !tag.IsZero():
		return target{tags + src.Ref, tag}, nil
	}
	return target{}, noRef(src, src.Ref)
}

func noRef(src objects.Source, name string) error {
	return fault.New(fault.NotFound, "%s: no branch and no tag %s there", words.Brief(src.Address), words.Quote(words.Brief(name)))
}

// defaultBranch returns the branch that HEAD names. A host that does not say so gets the one branch
// with the same commit.
func defaultBranch(src objects.Source, refs map[string]store.OID, head string) (target, error) {
	at := refs["HEAD"]
	if at.IsZero() {
		return target{}, fault.New(fault.NotFound, "%s: the repository has no commits", words.Brief(src.Address))
	}
	if strings.HasPrefix(head, branches) && refs[head] == at {
		return target{head, at}, nil
	}
	head = ""
	for _, name := range append([]string{branches + "main", branches + "master"}, slices.Sorted(maps.Keys(refs))...) {
		if strings.HasPrefix(name, branches) && refs[name] == at {
			head = name
			break
		}
	}
	if head == "" {
		return target{}, fault.New(fault.NotFound, "%s: its HEAD is no branch", words.Brief(src.Address)).Advise("name a branch or a tag: %s#<branch>", words.Quote(src.Address))
	}
	return target{head, at}, nil
}
