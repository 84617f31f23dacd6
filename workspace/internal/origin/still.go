package origin

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/foreign"
	"github.com/rye-os/rye/objects/foreign/discovery"
	"github.com/rye-os/rye/workspace/internal/author"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// A folder, an archive and a site have no history: they have what they have now. So their content is
// read anew and compared by its tree_sha256, and the record alone has what came before.

// acceptArchive is the flag by which a person pins an archive.
const acceptArchive = "--sha256"

// still is such a source, open to be compared.
type still interface {
	// now returns what the source of a bundle gives now; nil where that cannot have changed. A source
	// or a skill that is gone is fault.NotFound.
	now(ctx context.Context, b bundle) (*arrived, error)
}

// openStill opens the source of some bundles. It reads no content yet.
func openStill(ctx context.Context, d *custody.Desk, all []bundle, typed bool) (still, error) {
	first := all[0]
	rules, err := d.Rules()
	if err == nil {
		err = session.AdmitSource(rules.Demands, first.manifest.Origin.Source)
	}
	if err != nil {
		return nil, fault.Wrap(err, "%s", words.Brief(first.pin.Address))
	}
	if first.site() {
		return openSite(ctx, d, first.pin.Address, typed)
	}
	return &heap{local: first.local(), from: &download{Desk: d, address: first.pin.Address, typed: typed, hosts: first.hosts}}, nil
}

// heap is a folder or an archive. It is read once.
type heap struct {
	from  *download
	local bool

	read   bool
	files  foreign.Tree
	digest string // of an archive
	err    error
}

func (h *heap) now(ctx context.Context, b bundle) (*arrived, error) {
	if !h.read {
		h.read = true
		if h.local {
			h.files, h.digest, h.err = localTree(ctx, h.from.address)
		} else {
			var sum objects.Digest
			h.files, sum, h.err = h.from.fetch(ctx, objects.Digest{})
			h.digest = sum.String()
		}
	}
	if h.err != nil {
		return nil, h.err
	}
	if h.digest != "" && h.digest == b.pin.Tip {
		return nil, nil
	}
	a, err := arrivedFrom(h.from.Desk, b, h.files, h.digest)
	if a != nil {
		a.hosts = h.from.hosts
	}
	return a, err
}

// now fetches the skill of a bundle, unless the index has the digest that came before.
func (s *site) now(ctx context.Context, b bundle) (*arrived, error) {
	name, _, _ := strings.Cut(b.pin.Path, "/")
	i := slices.IndexFunc(s.index.Skills, func(k discovery.Skill) bool { return k.Name == name })
	if i < 0 {
		return nil, fault.New(fault.NotFound, "the index does not name the skill any more")
	}
	k := s.index.Skills[i]
	digest := ""
	if k.Type != discovery.TypeFiles {
		if digest = k.Digest.String(); digest == b.pin.Tip {
			return nil, nil
		}
	}
	files, err := s.skill(ctx, k)
	if err != nil {
		return nil, err
	}
	t := foreign.Tree{Name: siteName(s.address), Origin: objects.Origin{Source: s.address}}
	for _, f := range files {
		f.Path = k.Name + "/" + f.Path
		t.Files = append(t.Files, f)
	}
	return arrivedFrom(s.d, b, t, digest)
}

// arrivedFrom imports a tree as the bundle was imported.
func arrivedFrom(d *custody.Desk, b bundle, t foreign.Tree, digest string) (*arrived, error) {
	t, err := within(t, b.pin.Root)
	if err != nil {
		return nil, err
	}
	as, _, _ := strings.Cut(b.pin.As, "/")
	t.Listed = b.pin.Listed
	packages, err := author.Bundles(d, rye.AddRequest{As: as, Entry: b.pin.Entry}, t)
	return &arrived{got: &got{files: t}, packages: packages, digest: digest}, err
}

// askStill compares the bundles of a folder or an archive with it.
func askStill(ctx context.Context, d *custody.Desk, all []bundle) (map[string]answer, error) {
	src, err := openStill(ctx, d, all, all[0].typed)
	if err != nil {
		return nil, err
	}
	answers := map[string]answer{}
	for _, b := range all {
		answers[b.name] = compareStill(ctx, src, b, answer{Time: d.Now().UTC().Format(time.RFC3339), State: stateOK})
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return answers, nil
}

// compareStill completes an answer by the content of a source.
func compareStill(ctx context.Context, src still, b bundle, a answer) answer {
	came, err := src.now(ctx, b)
	switch {
	case fault.Is(err, fault.NotFound):
		a.State, a.Reason = stateGone, err.Error()
	case err != nil:
		a.State, a.Reason = stateUnknown, err.Error()
	case came != nil:
		p, renamed, ok := came.of(b)
		switch {
		case !ok:
			a.State, a.Reason = stateRemoved, "the folder is not there any more"
		case renamed != "":
			a.State, a.Renamed, a.Reason = stateRenamed, renamed, "the folder is now "+renamed
		case p.Origin.Sum != b.manifest.Origin.Sum:
			a.State = stateOutdated
		}
	}
	return a
}

// stills updates the bundles of one source without a history.
func (u *updating) stills(ctx context.Context, all []bundle) (first error) {
	src, err := u.openStill(ctx, all, u.q.AcceptSource, "update")
	for _, b := range all {
		if err != nil {
			first = cmp.Or(first, u.add(b, rye.OriginUpdate{}, fault.Wrap(err, "update %s", b.name)))
			continue
		}
		first = cmp.Or(first, u.still(ctx, src, b))
	}
	return first
}

// openStill opens a source after the user agreed to contact it.
func (u *updating) openStill(ctx context.Context, all []bundle, accepted []string, verb string) (still, error) {
	if u.Offline && !all[0].local() {
		return nil, fault.New(fault.Offline, "%s must be asked over the network", words.Brief(all[0].pin.Address)).Advise("leave out --offline")
	}
	typed, err := mayAsk(ctx, u.Desk, all, accepted, verb)
	if err != nil {
		return nil, err
	}
	src, err := openStill(ctx, u.Desk, all, typed)
	if h, is := src.(*heap); is {
		h.from.again = []string{"rye", verb}
	}
	s, isSite := src.(*site)
	if err != nil || !isSite {
		return src, err
	}
	s.again = []string{"rye", verb}
	var fetch []discovery.Skill
	for _, b := range all {
		name, _, _ := strings.Cut(b.pin.Path, "/")
		for _, k := range s.index.Skills {
			if k.Name == name && (k.Type == discovery.TypeFiles || k.Digest.String() != b.pin.Tip) {
				fetch = append(fetch, k)
			}
		}
	}
	_, _, err = s.elsewhereToo(ctx, rye.AddRequest{}, fetch) // a skill on a host that no index may name fails by itself
	return s, err
}

// still updates one bundle of a source without a history.
func (u *updating) still(ctx context.Context, src still, b bundle) error {
	a, err := src.now(ctx, b)
	switch {
	case fault.Is(err, fault.NotFound):
		return u.add(b, rye.OriginUpdate{State: stateGone}, u.named(fault.New(fault.NotFound, "update %s: %w", b.name, err).
			Advise("the bundle stays as it is; rye remove bundle:%s takes it out", b.name)))
	case err != nil:
		return u.add(b, rye.OriginUpdate{}, fault.Wrap(err, "update %s", b.name))
	case a == nil:
		return u.add(b, rye.OriginUpdate{State: stateOK}, nil)
	}
	was := b.manifest.Origin.Sum
	out := rye.OriginUpdate{Was: was.Hex()}
	p, renamed, ok := a.of(b)
	if out.Renamed = renamed; !ok {
		out.State = stateRemoved
		return u.add(b, out, u.named(fault.New(fault.NotFound, "update %s: the folder %s is not there any more", b.name, words.Quote(b.pin.Path)).
			Advise("the bundle stays as it is; rye remove bundle:%s takes it out", b.name)))
	}
	if out.Now = p.Origin.Sum.Hex(); p.Origin.Sum == was && renamed == "" {
		out.State = stateOK
		return u.add(b, out, u.standsAt(ctx, b, a.digest))
	}
	return u.renew(ctx, nil, b, a, p, out)
}

// standsAt notes that a source has another digest with the same content for a bundle.
func (u *updating) standsAt(ctx context.Context, b bundle, digest string) error {
	if u.q.DryRun || digest == "" {
		return nil
	}
	return update(ctx, u.Desk, func(st *state) error {
		pin := b.pin
		pin.Tip, pin.Answer = digest, answer{}
		st.Bundles[b.name] = pin
		return nil
	})
}

// unpinned returns the digest of an archive from the network that the user did not pin yet; "" for
// none. Nothing else protects its content from one request to the next.
func (n *next) unpinned(a *arrived, q rye.OriginUpdateRequest) string {
	if n.bundle.kind() != objects.SourceArchive || n.bundle.local() || slices.ContainsFunc(q.SHA256, func(s string) bool { return is(s, a.digest) }) {
		return ""
	}
	return a.digest
}

// is reports whether a digest that a user typed is the one of an archive.
func is(typed, digest string) bool {
	d, err := pinOfArchive(typed)
	return err == nil && d.String() == digest
}

// pinOfArchive reads the digest that a user pins an archive to.
func pinOfArchive(s string) (objects.Digest, error) {
	d, err := objects.ParseDigest("sha256:" + strings.TrimPrefix(strings.ToLower(s), "sha256:"))
	if err != nil {
		return d, fault.New(fault.Usage, "%s %s: want 64 hexadecimal digits", acceptArchive, words.Quote(words.Brief(s)))
	}
	return d, nil
}
