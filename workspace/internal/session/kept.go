package session

import (
	"cmp"
	"context"
	"io/fs"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
)

// KeptVersion is a version of a dependency whose content the project's store holds.
type KeptVersion struct {
	Version string
	Path    string // below .ai
	Sum     string // from the name of its ref
	Commit  *store.Commit
}

// KeptVersions returns the versions of a dependency that this project has had, newest first.
func KeptVersions(ctx context.Context, s *Session, ref objects.Ref) (all []KeptVersion, err error) {
	repo, err := s.Stack.Project.Repo()
	if err != nil || repo == nil {
		return nil, err
	}
	refs, err := repo.Refs(LockRefs)
	if err != nil {
		return nil, err
	}
	for _, r := range refs {
		err := repo.Log(ctx, r.ID, func(c *store.Commit) error {
			if v := trailer(c.Message, "Rye-Item: "+ref.Published()+"\nRye-Version: "); v != "" {
				all = append(all, KeptVersion{v, trailer(c.Message, "Rye-Path: "), strings.TrimPrefix(r.Name, LockRefs), c})
			}
			return fs.SkipAll // content has no history of its own
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b KeptVersion) int { return byVersion(b.Version, a.Version) })
	return all, nil
}

// trailer returns the rest of the message line that begins with lead; "" without such a line.
func trailer(message, lead string) string {
	_, rest, _ := strings.Cut(message, "\n"+lead)
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

func byVersion(a, b string) int {
	va, errA := objects.ParseVersion(a)
	vb, errB := objects.ParseVersion(b)
	if errA != nil || errB != nil {
		return cmp.Compare(a, b)
	}
	return va.Compare(vb)
}

// KeptText reads the content of a version, and refuses bytes that do not match its ref.
func KeptText(s *Session, v KeptVersion) (string, error) {
	repo, err := s.Stack.Project.Repo()
	if err != nil {
		return "", err
	}
	e, err := repo.Lookup(v.Commit.Tree, v.Path)
	if err != nil {
		return "", err
	}
	raw, err := repo.Blob(e.ID, space.MaxItem)
	if err == nil && objects.DigestOf(raw).Hex() != v.Sum {
		err = fault.New(fault.Integrity, "%s: its stored bytes differ from the locked ones", v.Path).Mend("rye fsck")
	}
	return string(raw), err
}
