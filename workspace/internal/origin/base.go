package origin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// Refs begins the names of the refs that hold the upstream content of bundles, one commit for each
// version that came in.
const Refs = "refs/rye/origin/"

// member is one file of a bundle, by its path below the bundle's directory.
type member struct {
	data []byte
	exec bool
}

// members are the files of one version of a bundle.
type members map[string]member

// membersOf returns files by their paths below dir.
func membersOf(dir string, files []store.Change) members {
	m := make(members, len(files))
	for _, c := range files {
		m[strings.TrimPrefix(c.Path, dir+"/")] = member{c.Data, c.Mode == store.ModeExec}
	}
	return m
}

// mode returns the mode for the store.
func (f member) mode() store.Mode {
	if f.exec {
		return store.ModeExec
	}
	return store.ModeFile
}

// originText is the part of a commit's message that names the origin. It is the whole text of the
// origin, so equal origins are equal texts.
func originText(o *objects.Origin) string {
	var b strings.Builder
	for _, f := range []struct{ name, value string }{{"source", o.Source}, {"ref", o.Ref}, {"commit", o.Commit}, {"path", o.Path}, {"root", o.Root}, {"entry", o.Entry}, {"listed", o.Listed}, {"tree", o.Tree}, {"tree_sha256", o.Sum.Hex()}} {
		if f.value != "" {
			fmt.Fprintf(&b, "%s: %s\n", f.name, f.value)
		}
	}
	return b.String()
}

// keepBase records the content of an origin as the bundle holds it. name is <namespace>/<name>.
func keepBase(ctx context.Context, d *custody.Desk, name string, o *objects.Origin, files members) error {
	repo, err := d.Stack.Project.Repo()
	if err != nil {
		return err
	}
	opts, err := d.Keys.CommitOptions(ctx, "import "+name+"\n\n"+originText(o))
	if err != nil {
		return err
	}
	opts.AllowEmpty = true
	changes := make([]store.Change, 0, len(files))
	for p, f := range files {
		changes = append(changes, store.Change{Path: p, Data: f.data, Mode: f.mode()})
	}
	tip, err := repo.Ref(Refs + name)
	if err != nil && !errors.Is(err, store.ErrNotExist) {
		return err
	}
	if err == nil {
		c, err := repo.Commit(tip)
		if err != nil {
			return err
		}
		if strings.HasSuffix(c.Message, "\n\n"+originText(o)) {
			return nil // it came in before
		}
		err = repo.Walk(ctx, c.Tree, func(p string, e store.Entry) error {
			if _, stays := files[p]; !stays && !e.IsDir() {
				changes = append(changes, store.Change{Path: p, Delete: true})
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	_, err = repo.Edit(ctx, Refs+name, changes, opts)
	return err
}

// baseOf returns the recorded content of an origin; nil if this record does not have it.
func baseOf(ctx context.Context, d *custody.Desk, name string, o *objects.Origin) (members, error) {
	repo, err := d.Stack.Project.Repo()
	if err != nil {
		return nil, err
	}
	tip, err := repo.Ref(Refs + name)
	if errors.Is(err, store.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var at *store.Commit
	found := errors.New("found")
	err = repo.Log(ctx, tip, func(c *store.Commit) error {
		if strings.HasSuffix(c.Message, "\n\n"+originText(o)) {
			at = c
			return found
		}
		return nil
	})
	if at == nil || err != nil && !errors.Is(err, found) {
		return nil, err
	}
	files := members{}
	return files, repo.Walk(ctx, at.Tree, func(p string, e store.Entry) error {
		if e.IsDir() {
			return nil
		}
		raw, err := repo.Blob(e.ID, objects.MaxBundleFile)
		files[p] = member{raw, e.Mode == store.ModeExec}
		return err
	})
}

// nameOf returns <namespace>/<name> of a bundle's directory below bundles/; false for another
// directory.
func nameOf(dir string) (string, bool) {
	name, ok := strings.CutPrefix(dir, objects.BundlesDir+"/")
	return name, ok && strings.Count(name, "/") == 1
}

// shown returns where content came from, for people.
func shown(o *objects.Origin) string {
	s := objects.Source{Address: o.Source, Ref: strings.TrimPrefix(strings.TrimPrefix(o.Ref, branches), tags), Path: o.Path}
	return words.Brief(s.String())
}
