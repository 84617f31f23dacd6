package origin

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/workspace/internal/author"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// stateFetched is the state of a bundle whose files rye pull brought.
const stateFetched = "fetched"

// Pull fetches the files of bundles whose manifests are here alone, at the commits that the manifests
// name. Each file has to be the one that the signed manifest lists; otherwise nothing is written.
// Files that are here stay. The report is complete beside an error, which is the first of its bundles.
func Pull(ctx context.Context, d *custody.Desk, q rye.OriginPullRequest) (*rye.OriginUpdateReport, error) {
	if _, err := d.Acting(q.DryRun); err != nil {
		return nil, err
	}
	st, err := load(d.Session)
	if err != nil {
		return nil, err
	}
	all, err := bundlesOf(ctx, d.Session, st)
	if err != nil {
		return nil, err
	}
	u := &updating{Desk: d, rep: &rye.OriginUpdateReport{DryRun: q.DryRun}}
	var incomplete []bundle
	for _, b := range all {
		lacks, err := missing(d, b)
		if err != nil {
			return nil, err
		}
		if len(lacks) > 0 {
			incomplete = append(incomplete, b)
		}
	}
	by := bySource(incomplete)
	var first error
	for _, address := range slices.Sorted(maps.Keys(by)) {
		first = cmp.Or(first, u.pull(ctx, by[address], q))
	}
	return u.rep, first
}

// missing returns the files of a bundle that its manifest lists and that are not here.
func missing(d *custody.Desk, b bundle) (lacks []objects.File, err error) {
	for _, f := range b.manifest.Files {
		_, err := d.Stack.Project.Read(b.dir + "/" + f.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			lacks = append(lacks, f)
		case err != nil && !fault.Is(err, fault.Malformed) && !fault.Is(err, fault.Limit):
			return nil, err
		}
	}
	return lacks, nil
}

// pull fetches the files of the bundles of one source.
func (u *updating) pull(ctx context.Context, all []bundle, q rye.OriginPullRequest) (first error) {
	fail := func(all []bundle, err error) error {
		for _, b := range all {
			first = cmp.Or(first, u.add(b, rye.OriginUpdate{}, err))
		}
		return first
	}
	var trusted []bundle
	for _, b := range all {
		switch {
		case !author.Signable(u.Desk, b.manifest):
			first = cmp.Or(first, u.add(b, rye.OriginUpdate{}, fault.New(fault.Untrusted, "pull %s: its manifest is not signed by a key that you trust here", b.name).Mend("rye verify bundle:%s", b.name)))
		case !b.still() && (b.pin.Commit == "" || !b.contactable()):
			first = cmp.Or(first, u.add(b, rye.OriginUpdate{}, fault.New(fault.NotFound, "pull %s: it came from %s of another machine, and files are missing", b.name, b.manifest.Origin.Source).
				Advise("get them from the person who added it")))
		default:
			trusted = append(trusted, b)
		}
	}
	if len(trusted) == 0 {
		return first
	}
	if trusted[0].still() { // then all are
		return u.pullStill(ctx, trusted, q)
	}
	if u.Offline {
		return fail(trusted, fault.New(fault.Offline, "pull %s: its files must be fetched", words.Brief(trusted[0].pin.Address)).Advise("leave out --offline"))
	}
	typed, err := mayAsk(ctx, u.Desk, trusted, q.AcceptSource, "pull")
	if err != nil {
		return fail(trusted, err)
	}
	h, err := contact(u.Desk, trusted[0].pin.Address, typed)
	if err != nil {
		return fail(trusted, err)
	}
	defer h.Close()
	for _, b := range trusted {
		packages, err := fetchPinned(ctx, u.Desk, h, b)
		first = cmp.Or(first, u.filled(ctx, b, packages, err, q.DryRun))
	}
	return first
}

// pullStill fetches the files of the bundles of a source without a history. It has to have the content
// still that the manifest names.
func (u *updating) pullStill(ctx context.Context, all []bundle, q rye.OriginPullRequest) (first error) {
	for i := range all {
		all[i].pin.Tip = "" // the content is wanted even where nothing is new
	}
	src, closed := u.openStill(ctx, all, q.AcceptSource, "pull")
	for _, b := range all {
		packages, err := []author.Package(nil), closed
		if closed == nil {
			packages, err = same(ctx, src, b)
		}
		first = cmp.Or(first, u.filled(ctx, b, packages, err, q.DryRun))
	}
	return first
}

// same returns the bundles of a source, which has to have the content that a manifest names.
func same(ctx context.Context, src still, b bundle) ([]author.Package, error) {
	a, err := src.now(ctx, b)
	if err != nil {
		return nil, err
	}
	for _, p := range a.packages {
		if o := b.manifest.Origin; p.Origin != nil && p.Origin.Path == o.Path && p.Origin.Tree == o.Tree && p.Origin.Sum == o.Sum {
			return a.packages, nil
		}
	}
	return nil, fault.New(fault.Integrity, "%s no longer has the content that the manifest names", words.Brief(b.pin.Address)).
		Advise("get the files from the person who added it: this source keeps no earlier content")
}

// filled fills a bundle from what its source has, and reports it.
func (u *updating) filled(ctx context.Context, b bundle, packages []author.Package, err error, dry bool) error {
	out := rye.OriginUpdate{State: stateFetched, Now: b.pin.Commit}
	if err == nil {
		err = u.fill(ctx, b, packages, &out, dry)
	}
	if err != nil {
		out.State, err = stateFailed, fault.Wrap(err, "pull %s", b.name)
	}
	return u.add(b, out, err)
}

// fill writes the missing files of a bundle.
func (u *updating) fill(ctx context.Context, b bundle, packages []author.Package, out *rye.OriginUpdate, dry bool) error {
	var theirs members
	for _, p := range packages {
		if p.Origin != nil && p.Origin.Path == b.pin.Path {
			theirs = membersOf(p.Dir, p.Files)
		}
	}
	lacks, err := missing(u.Desk, b)
	if err != nil {
		return err
	}
	var files []store.Change
	for _, f := range lacks {
		got, ok := theirs[f.Path]
		if !ok || !f.Matches(got.data) {
			return fault.New(fault.Integrity, "%s is not at its source as the manifest lists it", words.Quote(f.Path)).
				Advise("the signer changed it; ask them to commit the files, or rye update bundle:%s", b.name)
		}
		mode := store.ModeFile
		if f.Executable {
			mode = store.ModeExec
		}
		files = append(files, store.Change{Path: b.dir + "/" + f.Path, Data: got.data, Mode: mode})
		out.Files = append(out.Files, f.Path)
	}
	if dry {
		return nil
	}
	if err := author.Fill(ctx, u.Desk, b.dir, files); err != nil {
		return err
	}
	if err := keepBase(ctx, u.Desk, b.name, b.manifest.Origin, theirs); err != nil {
		return err
	}
	return update(ctx, u.Desk, func(st *state) error { st.Bundles[b.name] = b.pin; return nil })
}

// notVendored keeps git from the files of bundles, except for their manifests. rye pull fetches them
// again.
func notVendored(d *custody.Desk, dirs []string) error {
	ai, err := os.OpenRoot(filepath.Join(d.ProjectDir, ".ai"))
	if err != nil {
		return err
	}
	defer ai.Close()
	old, err := place.ReadIn(ai, ".gitignore", 1<<20)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text := bytes.Clone(old)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	for _, dir := range dirs {
		for _, line := range []string{"/" + dir + "/**", "!/" + dir + "/" + objects.ManifestName} {
			if !slices.Contains(strings.Split(string(text), "\n"), line) {
				text = append(text, line+"\n"...)
			}
		}
	}
	if bytes.Equal(old, text) {
		return nil
	}
	return place.FileIn(ai, ".gitignore", text, 0o644)
}
