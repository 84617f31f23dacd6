package look

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/diff"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// IsDependency reports whether a ref is an item that the lock brings from a registry.
func IsDependency(s *session.Session, ref objects.Ref) bool {
	return s.Lock != nil && s.Lock.Items[ref].From != ""
}

// LogDependency lists the versions of a dependency that this project has had.
func LogDependency(ctx context.Context, s *session.Session, q rye.LogRequest, limit int) (all []rye.LogEntry, err error) {
	kept, err := session.KeptVersions(ctx, s, q.Ref)
	if err != nil {
		return nil, err
	}
	pin := s.Lock.Items[q.Ref]
	for _, v := range kept[:min(limit, len(kept))] {
		e := rye.LogEntry{Commit: v.Commit.ID.String(), When: v.Commit.Committer.Time().UTC().Format(time.RFC3339),
			Author: v.Commit.Author.Name, Subject: q.Ref.Published() + "@" + v.Version}
		if v.Sum == pin.SHA256.Hex() {
			e.Subject += ", locked from " + pin.From
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		err = fault.New(fault.NotFound, "log %s: its content is not on this machine", q.Ref).Mend("rye pull")
	}
	return all, err
}

// diffDependency compares two versions of a dependency that this project has had. The new one
// is To or the locked version; the old one is From or the version before the new one.
func diffDependency(ctx context.Context, s *session.Session, ref objects.Ref, q rye.DiffRequest) ([]rye.ItemDiff, error) {
	kept, err := session.KeptVersions(ctx, s, ref)
	if err != nil {
		return nil, err
	}
	now := slices.IndexFunc(kept, func(v session.KeptVersion) bool {
		return v.Version == q.To || q.To == "" && v.Sum == s.Lock.Items[ref].SHA256.Hex()
	})
	was := now + 1
	if q.From != "" {
		was = slices.IndexFunc(kept, func(v session.KeptVersion) bool { return v.Version == q.From })
	}
	if now < 0 || was < 0 {
		return nil, fault.New(fault.NotFound, "diff %s: this project never had that version", ref).Advise("rye log %s", ref)
	}
	d := rye.ItemDiff{Ref: ref.String(), Path: ref.Published() + "@" + kept[now].Version, Recorded: true, Lines: []string{}}
	if was == len(kept) { // there is no older version to compare with
		return []rye.ItemDiff{d}, nil
	}
	old, err := session.KeptText(s, kept[was])
	if err != nil {
		return nil, err
	}
	text, err := session.KeptText(s, kept[now])
	if err != nil {
		return nil, err
	}
	d.From, d.To = kept[was].Version, kept[now].Version
	d.Lines = append(d.Lines, diff.Lines(old, text)...)
	return []rye.ItemDiff{d}, nil
}

// manifestOf returns the manifest of the project's bundle that holds an item; nil for none.
func manifestOf(s *session.Session, f space.Finding) *objects.Manifest {
	dir, err := objects.BundleDir(f.Bundle)
	if f.Bundle == "" || err != nil || f.Space != objects.Project || f.Registry != "" || s.Stack.Project == nil {
		return nil
	}
	raw, err := s.Stack.Project.Read(dir + "/" + objects.ManifestName)
	if err != nil {
		return nil
	}
	m, err := objects.ParseManifest(raw)
	if err != nil {
		return nil
	}
	return m
}

// describeOrigin adds the source of an item in use, the range in rye.yaml, and the locked tools
// that run through it.
func describeOrigin(s *session.Session, i *rye.ItemInfo, f space.Finding) {
	if m := manifestOf(s, f); m != nil && m.Origin != nil {
		i.Source = m.Origin.String()
	}
	if s.Lock == nil {
		return
	}
	entry, locked := session.LockEntry(s, f.Ref)
	pin := s.Lock.Items[entry]
	if locked && f.Registry != "" {
		i.Origin = "registry " + pin.From + " (" + s.Lock.Registries[pin.From].URL + "), published as " + entry.Published()
		if s.Project != nil {
			i.Range = s.Project.Deps[entry.Published()]
		}
	}
	for _, user := range slices.Collect(maps.Keys(s.Lock.Items)) {
		if slices.Contains(s.Lock.Items[user].Chain, f.Ref) {
			i.UsedBy = append(i.UsedBy, user.String())
		}
	}
	slices.Sort(i.UsedBy)
}
