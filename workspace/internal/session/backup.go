package session

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/objects/trust/backup"
	"github.com/rye-os/rye/registry/memory"
	keptlines "github.com/rye-os/rye/store/memory"
)

// Remembered returns what this user has seen of registries, and the signers' lines that apply
// in every directory of a project, for a backup.
func (h *Host) Remembered() (registries []backup.Registry, projects []backup.Project, err error) {
	_, state := h.Registries()
	saved, err := memory.Save(state)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range saved {
		registries = append(registries, backup.Registry{ID: s.ID.String(), Seen: s.Seen, Revoked: linesOf(s.Revoked), Unread: linesOf(s.Unread)})
	}
	dir := filepath.Join(h.Records.Dir(), "projects")
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fault.New(fault.Failed, "list the projects: %w", err)
	}
	for _, e := range entries {
		if !projectID(e.Name()) {
			continue
		}
		p, err := h.remembered(e.Name())
		if err != nil {
			return nil, nil, err
		}
		if p != (backup.Project{ID: p.ID}) {
			projects = append(projects, p)
		}
	}
	return registries, projects, nil
}

func linesOf(texts map[string]string) (all []backup.Lines) {
	for _, ns := range slices.Sorted(maps.Keys(texts)) {
		all = append(all, backup.Lines{Namespace: ns, Text: texts[ns]})
	}
	return all
}

// projectID reports whether text has the form of a project's id.
func projectID(text string) bool {
	return len(text) == 32 && strings.Trim(text, "0123456789abcdef") == ""
}

func (h *Host) remembered(id string) (p backup.Project, err error) {
	p.ID = id
	at := h.Records.OfProject(id)
	text := func(kind objects.DismissalKind) string {
		lines, e := readKeptLines(keptAgainst(at, kind), kind)
		err = errors.Join(err, e)
		return string(objects.EncodeDismissals(lines))
	}
	p.Removed, p.DeniedKeys = text(objects.SignerRemoved), text(objects.KeyDenied)
	if kept := keptlines.DeniedOf(at); kept != nil && err == nil {
		var lines []objects.Taken
		err = kept.Each(func(l objects.Taken) { lines = append(lines, l) })
		p.Denied = string(objects.EncodeTakenKept(lines))
	}
	return p, err
}

// Returning holds the checked memory of a backup, ready to be merged into the user's own.
type Returning struct {
	h          *Host
	registries []*memory.Return
	ids        []string
	projects   []returningLines
}

type returningLines struct {
	id      string
	against map[objects.DismissalKind][]objects.Dismissal // that are new here
	taken   map[objects.Fingerprint][]objects.Taken
}

// Returns checks the memory of a backup against the user's own. It writes nothing.
func (h *Host) Returns(registries []backup.Registry, projects []backup.Project) (*Returning, error) {
	r := &Returning{h: h}
	_, state := h.Registries()
	for _, b := range registries {
		id, err := objects.ParseDigest(b.ID)
		if err != nil || id.String() != b.ID {
			return nil, fault.New(fault.Malformed, "registry %q: want sha256: and 64 hexadecimal digits", words.Brief(b.ID))
		}
		one, err := memory.Saved{ID: id, Seen: b.Seen, Revoked: textsOf(b.Revoked), Unread: textsOf(b.Unread)}.Check(state)
		if err != nil {
			return nil, err
		}
		r.registries, r.ids = append(r.registries, one), append(r.ids, b.ID)
	}
	for _, p := range projects {
		if !projectID(p.ID) {
			return nil, fault.New(fault.Malformed, "project %q: want 32 hexadecimal digits", words.Brief(p.ID))
		}
		lines, err := newLines(h, p)
		if err != nil {
			return nil, fault.Wrap(err, "project %s", p.ID)
		}
		r.projects = append(r.projects, lines)
	}
	return r, nil
}

func textsOf(lines []backup.Lines) map[string]string {
	all := make(map[string]string, len(lines))
	for _, l := range lines {
		all[l.Namespace] += l.Text
	}
	return all
}

// newLines parses the lines of a project, and drops the ones that are here already.
func newLines(h *Host, p backup.Project) (r returningLines, err error) {
	r = returningLines{id: p.ID, against: map[objects.DismissalKind][]objects.Dismissal{}, taken: map[objects.Fingerprint][]objects.Taken{}}
	at := h.Records.OfProject(p.ID)
	for kind, text := range map[objects.DismissalKind]string{objects.SignerRemoved: p.Removed, objects.KeyDenied: p.DeniedKeys} {
		lines, bad := objects.ParseDismissals(kind, []byte(text))
		if len(bad) > 0 {
			return r, fault.New(fault.Malformed, "line %d against a key: %s", bad[0].N, bad[0].Why)
		}
		had, err := readKeptLines(keptAgainst(at, kind), kind)
		if err != nil {
			return r, err
		}
		for _, l := range lines {
			if !slices.ContainsFunc(had, func(x objects.Dismissal) bool {
				return x.Key == l.Key && x.Signer == l.Signer && x.Namespace == l.Namespace && !x.At.Before(l.At)
			}) {
				r.against[kind] = append(r.against[kind], l)
			}
		}
	}
	lines, err := objects.ParseTakenKept([]byte(p.Denied))
	if err != nil {
		return r, err
	}
	kept := keptlines.DeniedOf(at)
	for _, l := range lines {
		var had []objects.Taken
		if kept != nil {
			if had, err = kept.Find(l.Key, l.Digest); err != nil {
				return r, err
			}
		}
		if !slices.ContainsFunc(had, func(x objects.Taken) bool { return x.Ref == l.Ref }) {
			r.taken[l.Key] = append(r.taken[l.Key], l)
		}
	}
	return r, nil
}

// Later reports whether the backup saw a later state of a namespace of a registry.
func (r *Returning) Later(registry, namespace string) bool {
	i := slices.Index(r.ids, registry)
	return i >= 0 && r.registries[i].Later(namespace)
}

// RememberedChange is one change that Apply makes.
type RememberedChange struct{ Kind, Subject, Detail string }

// Changes lists what Apply does.
func (r *Returning) Changes() (all []RememberedChange) {
	for i, one := range r.registries {
		for _, text := range one.Changes() {
			all = append(all, RememberedChange{"registry", r.ids[i], text})
		}
	}
	for _, p := range r.projects {
		for _, kind := range []objects.DismissalKind{objects.SignerRemoved, objects.KeyDenied} {
			if n := len(p.against[kind]); n > 0 {
				all = append(all, RememberedChange{"project", p.id, words.Plural(n, "line") + " of .ai/" + fileOf(kind) + " against keys"})
			}
		}
		n := 0
		for _, of := range p.taken {
			n += len(of)
		}
		if n > 0 {
			all = append(all, RememberedChange{"project", p.id, words.Plural(n, "line") + " of .ai/" + objects.TakenFile})
		}
	}
	return all
}

// Apply merges the memory: lines against keys and items first, then registries.
func (r *Returning) Apply(ctx context.Context) error {
	var errs []error
	for _, p := range r.projects {
		at := r.h.Records.OfProject(p.id)
		for kind, lines := range p.against {
			left, err := keep(ctx, keptAgainst(at, kind), kind, lines)
			if errs = append(errs, err); left > 0 {
				errs = append(errs, fault.New(fault.Limit, "project %s: no room for %s against keys", p.id, words.Plural(left, "line")))
			}
		}
		if kept := keptlines.DeniedOf(at); kept != nil && len(p.taken) > 0 {
			left, err := kept.Keep(ctx, p.taken, func(objects.Taken) bool { return false }, genuine(r.h, p.id))
			if errs = append(errs, err); left > 0 {
				errs = append(errs, fault.New(fault.Limit, "project %s: %s", p.id, notKept(left)))
			}
		}
	}
	for i, one := range r.registries {
		if err := one.Apply(ctx); err != nil {
			errs = append(errs, fault.Wrap(err, "registry %s", r.ids[i]))
		}
	}
	return errors.Join(errs...)
}

// genuine verifies a line by a key that the trust store knows.
func genuine(h *Host, project string) func(objects.Taken) bool {
	return func(l objects.Taken) bool {
		st, err := trust.LoadStore(h.TrustPath())
		if err != nil {
			return false
		}
		k, ok := st.Key(l.Key)
		return ok && k.Verify(l.Message(project), l.Sig[:])
	}
}
