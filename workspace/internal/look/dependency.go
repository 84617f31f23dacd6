package look

import (
	"cmp"
	"context"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/diff"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// IsDependency reports whether a ref is an item that the lock brings from a registry.
func IsDependency(s *session.Session, ref objects.Ref) bool {
	return s.Lock != nil && s.Lock.Items[ref].From != ""
}

// keptVersion is a version of a dependency whose content the project's store holds.
type keptVersion struct {
	version string
	path    string // below .ai
	sum     string // as the name of its ref states it
	commit  *store.Commit
}

// keptVersions returns the versions of a dependency that this project has had, newest first.
func keptVersions(ctx context.Context, s *session.Session, ref objects.Ref) (all []keptVersion, err error) {
	repo, err := s.Stack.Project.Repo()
	if err != nil || repo == nil {
		return nil, err
	}
	refs, err := repo.Refs(session.LockRefs)
	if err != nil {
		return nil, err
	}
	for _, r := range refs {
		err := repo.Log(ctx, r.ID, func(c *store.Commit) error {
			if v := trailer(c.Message, "Rye-Item: "+ref.Published()+"\nRye-Version: "); v != "" {
				all = append(all, keptVersion{v, trailer(c.Message, "Rye-Path: "), strings.TrimPrefix(r.Name, session.LockRefs), c})
			}
			return fs.SkipAll // content has no history of its own
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b keptVersion) int { return byVersion(b.version, a.version) })
	return all, nil
}

// trailer returns what stands behind the lead, which begins a line of a message, up to the
// end of its line; "" where it does not stand there.
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

// LogDependency lists the versions of a dependency that this project has had.
func LogDependency(ctx context.Context, s *session.Session, q rye.LogRequest, limit int) (all []rye.LogEntry, err error) {
	kept, err := keptVersions(ctx, s, q.Ref)
	if err != nil {
		return nil, err
	}
	pin := s.Lock.Items[q.Ref]
	for _, v := range kept[:min(limit, len(kept))] {
		e := rye.LogEntry{Commit: v.commit.ID.String(), When: v.commit.Committer.Time().UTC().Format(time.RFC3339),
			Author: v.commit.Author.Name, Subject: q.Ref.Published() + "@" + v.version}
		if v.sum == pin.SHA256.Hex() {
			e.Subject += ", locked from " + pin.From
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		err = fault.New(fault.NotFound, "log %s: its content is not here", q.Ref).Mend("rye pull")
	}
	return all, err
}

// diffDependency compares two versions of a dependency that this project has had: From, or the
// one before To, with To, or the one that is locked.
func diffDependency(ctx context.Context, s *session.Session, ref objects.Ref, q rye.DiffRequest) ([]rye.ItemDiff, error) {
	kept, err := keptVersions(ctx, s, ref)
	if err != nil {
		return nil, err
	}
	now := slices.IndexFunc(kept, func(v keptVersion) bool {
		return v.version == q.To || q.To == "" && v.sum == s.Lock.Items[ref].SHA256.Hex()
	})
	was := now + 1
	if q.From != "" {
		was = slices.IndexFunc(kept, func(v keptVersion) bool { return v.version == q.From })
	}
	if now < 0 || was < 0 {
		return nil, fault.New(fault.NotFound, "diff %s: this project has never had that version", ref).Advise("rye log %s", ref)
	}
	d := rye.ItemDiff{Ref: ref.String(), Path: ref.Published() + "@" + kept[now].version, Recorded: true, Lines: []string{}}
	if was == len(kept) { // there is none to compare with
		return []rye.ItemDiff{d}, nil
	}
	old, err := keptText(s, kept[was])
	if err != nil {
		return nil, err
	}
	text, err := keptText(s, kept[now])
	if err != nil {
		return nil, err
	}
	d.From, d.To = kept[was].version, kept[now].version
	d.Lines = append(d.Lines, diff.Lines(old, text)...)
	return []rye.ItemDiff{d}, nil
}

// keptText reads the content of a version, and refuses bytes that are not those of its ref.
func keptText(s *session.Session, v keptVersion) (string, error) {
	repo, err := s.Stack.Project.Repo()
	if err != nil {
		return "", err
	}
	e, err := repo.Lookup(v.commit.Tree, v.path)
	if err != nil {
		return "", err
	}
	raw, err := repo.Blob(e.ID, space.MaxItem)
	if err == nil && objects.DigestOf(raw).Hex() != v.sum {
		err = fault.New(fault.Integrity, "%s: the bytes that are kept are not those that were locked", v.path).Mend("rye fsck")
	}
	return string(raw), err
}

// describeOrigin says of an item that is in use where it comes from, which range asks for it,
// and which locked tools run through it.
func describeOrigin(s *session.Session, i *rye.ItemInfo, f space.Finding) {
	if s.Lock == nil {
		return
	}
	pin, locked := s.Lock.Items[f.Ref]
	if locked && f.Registry != "" {
		i.Origin = "registry " + pin.From + " (" + s.Lock.Registries[pin.From].URL + "), published as " + f.Ref.Published()
		if s.Project != nil {
			i.Range = s.Project.Deps[f.Ref.Published()]
		}
	}
	for _, user := range slices.Collect(maps.Keys(s.Lock.Items)) {
		if slices.Contains(s.Lock.Items[user].Chain, f.Ref) {
			i.UsedBy = append(i.UsedBy, user.String())
		}
	}
	slices.Sort(i.UsedBy)
}
