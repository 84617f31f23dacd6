package origin

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/workspace/internal/author"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/share"
)

// acceptSigner is the flag by which another upstream signer is accepted.
const acceptSigner = "--accept-upstream-signer"

// Add brings the content of a source into the project. The person who typed the source agrees with
// it that rye contacts it, now and later, for this directory.
func Add(ctx context.Context, d *custody.Desk, q rye.AddRequest) ([]rye.AddReport, error) {
	src, err := objects.ParseSource(q.URL)
	if err != nil {
		return nil, err
	}
	if q.SHA256 != "" && (src.Kind == objects.SourceSite || src.Kind == objects.SourceLock) {
		return nil, onlyArchives(q.URL)
	}
	switch src.Kind {
	case objects.SourceSite:
		return addSite(ctx, d, q, src)
	case objects.SourceLock:
		return addLock(ctx, d, q, src)
	case objects.SourceArchive:
		if !src.Local() {
			return addArchive(ctx, d, q, src)
		}
	}
	if src.Kind != objects.SourceGit {
		return nil, fault.New(fault.Usage, "add %s: it is no git repository", words.Brief(q.URL))
	}
	if _, err := d.Acting(q.DryRun); err != nil {
		return nil, err
	}
	if q.NoVendor && src.Local() {
		return nil, onlyReached(q.URL)
	}
	if err := guess(ctx, d, src); err != nil {
		return nil, err
	}
	st, err := load(d.Session)
	if err != nil {
		return nil, err
	}
	h, err := contact(d, src.Address, true)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	g, err := h.newest(ctx, d, src)
	if err != nil {
		return nil, fault.Wrap(err, "add %s", words.Brief(src.String()))
	}
	if err := sameSigner(ctx, d, st.Sources[src.Address], g.commit, src, q.AcceptUpstreamSigner, "add", src.String()); err != nil {
		return nil, err
	}
	g.files.Name = treeName(src)
	g.files.Origin = objects.Origin{Source: sourceName(src), Ref: g.ref, Commit: g.commit.id.String(), Path: src.Path}
	for _, f := range g.files.Files {
		if pointer(f.Data) {
			d.Tell(words.Quote(f.Path) + " is a pointer of Git LFS: its content lies elsewhere, and is not fetched")
		}
	}
	reports, packages, err := addTree(ctx, d, q, g.files, facts(src, g))
	if len(packages) == 0 || q.DryRun {
		return reports, err
	}
	// Some bundles may have been refused: the others came in all the same.
	return reports, cmp.Or(err, remember(ctx, d, src, q, g, packages))
}

func onlyReached(source string) error {
	return fault.New(fault.Usage, "add %s: --no-vendor is for a source that other machines reach", words.Brief(source)).Advise("leave it out")
}

// guess asks before rye contacts GitHub for a source that does not name it.
func guess(ctx context.Context, d *custody.Desk, src objects.Source) error {
	if !src.Short {
		return nil
	}
	ns, _, _ := strings.Cut(strings.TrimPrefix(src.Address, "https://github.com/"), "/")
	if name, bound := share.Bound(d, ns); bound {
		return fault.New(fault.NotFound, "add %s: %s comes from the registry %s here, which has no such item", words.Brief(src.String()), ns, name).
			Advise("give the kind, as in %s/tool/<name>; for the repository, give %s", ns, src.Address)
	}
	full := objects.Source{Address: src.Address, Ref: src.Ref, Path: src.Path}.String()
	return d.Ask(ctx, rye.Question{Topic: "add from GitHub", Text: "Fetch it from GitHub?", Lines: []string{"source   " + full},
		Mend: fault.CommandOf("rye", "add", full)})
}

// newest fetches the commit that a source names now. A commit that was given by its id has to be in
// the history of a branch or a tag.
func (h *host) newest(ctx context.Context, d *custody.Desk, src objects.Source) (*got, error) {
	refs, head, err := h.remote.RefsAndHead(ctx, prefixesFor(src.Ref)...)
	if err != nil {
		return nil, err
	}
	t, err := resolve(src, refs, head)
	if err != nil {
		return nil, err
	}
	g, err := h.get(ctx, d, src, t)
	if err != nil || t.ref != "" {
		return g, err
	}
	return g, h.belongs(ctx, g.commit.id, refs)
}

// belongs refuses a commit that no branch and no tag of the host reaches. Forges serve the commits of
// all forks of a repository by their ids.
func (h *host) belongs(ctx context.Context, id store.OID, refs map[string]store.OID) error {
	var tips []store.OID
	for name, tip := range refs {
		if strings.HasPrefix(name, branches) || strings.HasPrefix(name, tags) {
			tips = append(tips, tip)
		}
	}
	slices.SortFunc(tips, store.OID.Compare)
	ok, err := h.reaches(ctx, slices.Compact(tips), id)
	if err == nil && !ok {
		err = fault.New(fault.Integrity, "commit %s is in no branch and no tag of %s: it may be a fork's", short(id), words.Brief(h.address)).
			Advise("name a branch or a tag, or give the address of the fork")
	}
	return err
}

// sameSigner compares the signer of a commit with the one who signed at first use. A source that was
// signed and no longer is counts as another signer.
func sameSigner(ctx context.Context, d *custody.Desk, known sources, c commit, src objects.Source, accepted bool, verb, name string) error {
	if known.Signer == "" || known.Signer == string(c.signer) || accepted {
		return nil
	}
	q := rye.Question{Topic: "another signer of " + words.Brief(src.Address), Text: "Accept it?", Flags: []string{acceptSigner},
		Lines: []string{"signed until now by " + trust.UpstreamKey(known.Signer).String(), "this commit         " + signedBy(c), "commit   " + c.id.String()},
		Mend:  fault.CommandOf("rye", verb, name, acceptSigner)}
	if err := d.Ask(ctx, q); err != nil {
		return fault.New(fault.Untrusted, "%s %s: commit %s: %s; until now %s signed: %w", verb, words.Brief(name), short(c.id), signedBy(c), trust.UpstreamKey(known.Signer), err).With(q.Mend)
	}
	return nil
}

// signedBy says who signed a commit or its tag.
func signedBy(c commit) string {
	switch {
	case c.signer != "":
		return "signed by " + c.signer.String()
	case c.other != "":
		return "signed by a " + strings.ToLower(c.other) + ", which rye does not verify"
	}
	return "not signed"
}

// facts are the lines of the question that tell where the content comes from.
func facts(src objects.Source, g *got) []string {
	lines := []string{"source   " + words.Brief(src.Address)}
	if g.ref != "" {
		lines = append(lines, "ref      "+g.ref)
	}
	lines = append(lines, "commit   "+g.commit.id.String())
	if src.Path != "" {
		lines = append(lines, "folder   "+src.Path)
	}
	if by := signedBy(g.commit); g.commit.signer != "" || g.commit.other != "" {
		lines = append(lines, "upstream "+by)
	}
	return lines
}

// treeName is the name for content without one of its own.
func treeName(src objects.Source) string {
	if src.Path != "" {
		return path.Base(src.Path)
	}
	return repositoryName(src.Address)
}

func repositoryName(address string) string {
	address = strings.TrimSuffix(strings.TrimRight(filepath.ToSlash(address), "/"), "/.git")
	return strings.TrimSuffix(address[strings.LastIndexAny(address, "/:")+1:], ".git")
}

// sourceName is the source as the manifest names it: a path of this machine is nobody else's
// business.
func sourceName(src objects.Source) string {
	switch {
	case src.Local() && src.Kind == objects.SourceGit:
		return "file:" + url.PathEscape(repositoryName(src.Address))
	case src.Local():
		return author.LocalSource(src.Address)
	}
	return src.Address
}

// remember records what came in, the grant to contact its source again, and its signer.
func remember(ctx context.Context, d *custody.Desk, src objects.Source, q rye.AddRequest, g *got, packages []author.Package) error {
	return noteCame(ctx, d, packages, came{src: src, now: sources{Typed: true, Signer: string(g.commit.signer)}, noVendor: q.NoVendor, as: q.As, tip: g.tip.String()})
}

// came says how bundles came from a source.
type came struct {
	src      objects.Source
	now      sources // what is known about the source from today on
	noVendor bool    // git keeps only the manifests
	as       string  // the wish for an id or a namespace
	tip      string  // as in pinned

	tipOf func(*objects.Origin) string // instead of tip; nil for one tip
}

// pin is what rye remembers about one of the bundles.
func (c came) pin(o *objects.Origin) pinned {
	p := pinned{Address: c.src.Address, Root: o.Root, As: c.as, Listed: o.Listed, Ref: o.Ref, Commit: o.Commit, Path: o.Path, Tree: o.Tree, Tip: c.tip, Entry: o.Entry}
	if c.tipOf != nil {
		p.Tip = c.tipOf(o)
	}
	return p
}

// keepManifests lets git keep only the manifests of the bundles that came in.
func keepManifests(d *custody.Desk, packages []author.Package) error {
	var dirs []string
	for _, p := range packages {
		if cameIn(d, p) {
			dirs = append(dirs, p.Dir)
		}
	}
	return notVendored(d, dirs)
}

// cameIn reports whether a bundle lies here with the origin that it came from now. The same files may
// have been here already, from elsewhere; then their manifest stays.
func cameIn(d *custody.Desk, p author.Package) bool {
	m, err := manifestAt(d.Session, p.Dir)
	return p.Origin != nil && err == nil && m != nil && m.Origin != nil && *m.Origin == *p.Origin
}

// noteCame records what came in from a source, and the grant to contact it again.
func noteCame(ctx context.Context, d *custody.Desk, packages []author.Package, c came) error {
	if c.noVendor {
		if err := keepManifests(d, packages); err != nil {
			return err
		}
	}
	pins, src, now := map[string]pinned{}, c.src, c.now
	if d.Place.Dir == "" {
		d.Tell("the source is not remembered: " + d.Records.Err().Error())
		return nil
	}
	for _, p := range packages {
		name, ok := nameOf(p.Dir)
		if !ok || !cameIn(d, p) {
			continue
		}
		if err := keepBase(ctx, d, name, p.Origin, membersOf(p.Dir, p.Files)); err != nil {
			return err
		}
		pins[name] = c.pin(p.Origin)
	}
	if len(pins) == 0 {
		return nil
	}
	if !src.Local() {
		if err := grant(d, src.Address); err != nil {
			return err
		}
	}
	return update(ctx, d, func(st *state) error {
		maps.Copy(st.Bundles, pins)
		known := st.Sources[src.Address]
		known.Typed = known.Typed || now.Typed
		known.Signer = cmp.Or(now.Signer, known.Signer)
		if len(now.Hosts) > 0 {
			known.Hosts = now.Hosts
		}
		st.Sources[src.Address] = known
		return nil
	})
}

// grant lets rye contact a source for this directory.
func grant(d *custody.Desk, address string) error {
	if granted(d, address) {
		return nil
	}
	return trust.Update(d.TrustPath(), func(t *trust.Store) error { return t.Grant(d.Now(), d.Site().Origin(address)) })
}

// granted reports whether rye may contact a source for this directory.
func granted(d *custody.Desk, address string) bool { return d.Trust.Granted(d.Site().Origin(address)) }
