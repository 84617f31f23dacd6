package origin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/foreign"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/workspace/internal/author"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// maxRemotes bounds the plugins of a marketplace that come in from other places at once.
const maxRemotes = 200

// addTree takes in a tree, with the plugins that its marketplaces list in other places: one level
// deep, since no marketplace of a listed plugin is read. With facts the user is asked. It returns the
// bundles of the tree itself.
func addTree(ctx context.Context, d *custody.Desk, q rye.AddRequest, t foreign.Tree, facts []string) ([]rye.AddReport, []author.Package, error) {
	m := &market{Desk: d, q: q, name: words.Quote(words.Brief(cmp.Or(q.URL, t.Name)))}
	remotes := m.chosen(foreign.Elsewhere(t))
	here := author.Part{Tree: t, Skills: q.Skills, Name: t.Name}
	for _, r := range remotes {
		here.Elsewhere = append(here.Elsewhere, r.Name)
	}
	switch {
	case len(remotes) == 0 || q.Space == "user":
		here.Elsewhere = nil // the tree's reader names them
	case q.List:
	default:
		if err := m.fetch(ctx, remotes); err != nil {
			return nil, nil, err
		}
	}
	if len(m.parts)+len(m.passed) == 0 && (len(remotes) == 0 || !q.List) {
		return author.FetchedFrom(ctx, d, q, t, facts)
	}
	parts := []author.Part{here}
	for _, p := range m.parts {
		parts = append(parts, p.Part)
		facts = append(facts, "plugin   "+p.from)
	}
	reports, packages, err := author.Gathered(ctx, d, q, parts, m.passed, facts)
	if q.List {
		reports = append(reports, listedRemotes(remotes)...)
		if fault.Is(err, fault.NotFound) && !slices.ContainsFunc(reports, func(r rye.AddReport) bool { return r.Code != "" }) {
			err = nil // the plugins in other places are something to choose from
		}
	}
	if q.DryRun || packages == nil {
		return reports, nil, err
	}
	for i, p := range m.parts {
		err = cmp.Or(err, p.remember(ctx, packages[i+1]))
	}
	return reports, packages[0], err
}

// market is the part of one add that brings the plugins which a marketplace lists elsewhere.
type market struct {
	*custody.Desk
	q    rye.AddRequest
	st   *state
	name string // for messages

	parts  []lockedPart
	passed []foreign.Passed
	total  int64
}

// chosen returns the plugins that the request names; all without names.
func (m *market) chosen(all []foreign.Remote) []foreign.Remote {
	if len(m.q.Skills) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(r foreign.Remote) bool {
		_, wanted := skillsOf(r, m.q.Skills)
		return !wanted
	})
}

// skillsOf returns the skills that a request chooses in a plugin, as <plugin>:<skill>. The plugin's
// name alone is the whole.
func skillsOf(r foreign.Remote, names []string) (skills []string, wanted bool) {
	for _, name := range names {
		plug, skill, one := strings.Cut(name, ":")
		if plug != r.Name {
			continue
		}
		if !one {
			return nil, true
		}
		skills = append(skills, skill)
	}
	return skills, len(skills) > 0 || len(names) == 0
}

// listedRemotes reports plugins without contacting their sources.
func listedRemotes(all []foreign.Remote) (reports []rye.AddReport) {
	for _, r := range all {
		reports = append(reports, rye.AddReport{Name: r.Name, About: words.Brief(r.String()), What: "plugin in another place"})
	}
	return reports
}

// fail names a plugin that does not come in.
func (m *market) fail(r foreign.Remote, err error) {
	p := foreign.Passed{Path: r.Name, Why: err.Error(), Code: fault.CodeOf(err)}
	if d, ok := differs(err); ok {
		p.Rule, p.Want, p.Got = d.rule, d.want, d.got
	}
	m.passed = append(m.passed, p)
}

// fetch brings plugins. One that cannot be fetched is named and stops no other.
func (m *market) fetch(ctx context.Context, all []foreign.Remote) (err error) {
	if m.st, err = load(m.Session); err != nil {
		return err
	}
	if len(all) > maxRemotes {
		for _, r := range all[maxRemotes:] {
			m.fail(r, fault.New(fault.Limit, "more than %d plugins lie elsewhere; choose some with --skill", maxRemotes))
		}
		all = all[:maxRemotes]
	}
	by, err := m.mayContact(ctx, all)
	if err != nil {
		return err
	}
	for _, address := range slices.Sorted(maps.Keys(by)) {
		if by[address][0].Source.Kind == objects.SourceArchive {
			for _, r := range by[address] {
				if err := m.archive(ctx, r); err != nil {
					m.fail(r, err)
				}
			}
		} else {
			m.repository(ctx, by[address])
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// typed reports whether a person named an address.
func (m *market) typed(address string) bool {
	return slices.Contains(m.q.AcceptSource, address) || m.st.Sources[address].Typed
}

// mayContact asks once about all sources that no one agreed to yet, and returns the plugins by
// source. Without a yes they are named, and the rest of the marketplace comes in.
func (m *market) mayContact(ctx context.Context, all []foreign.Remote) (map[string][]foreign.Remote, error) {
	by, fresh := map[string][]foreign.Remote{}, map[string]bool{}
	for _, r := range all {
		address := r.Source.Address
		switch why := insideAddress(address); {
		case m.Offline:
			m.fail(r, fault.New(fault.Offline, "it lies at %s, which must be asked over the network", words.Brief(address)))
			continue
		case why != "" && !m.typed(address):
			m.fail(r, fault.New(fault.Denied, "%s is not a public host (%s), and only --accept-source %s lets rye contact it", words.Brief(address), why, words.Brief(address)))
			continue
		case !m.typed(address) && !granted(m.Desk, address):
			fresh[address] = true
		}
		by[address] = append(by[address], r)
	}
	if len(fresh) == 0 {
		return by, nil
	}
	ask := rye.Question{Topic: "contact the sources in " + m.name, Text: fmt.Sprintf("Contact %s for this directory?", words.Plural(len(fresh), "source")),
		Mend: fault.CommandOf("rye", "add", cmp.Or(m.q.URL, m.q.Path), "--yes")}
	for _, address := range slices.Sorted(maps.Keys(fresh)) {
		line := words.Brief(address)
		for _, r := range by[address] {
			line += "  " + words.Quote(words.Brief(r.Name))
		}
		ask.Lines = append(ask.Lines, words.Clip(line, rye.MaxLineBytes-8))
	}
	err := m.Ask(ctx, ask)
	if fault.Is(err, fault.Denied) && ctx.Err() == nil {
		no := (*rye.Unagreed)(nil)
		declined := errors.As(err, &no) && no.How == rye.Declined
		for address := range fresh {
			for _, r := range by[address] {
				p := foreign.Passed{Path: r.Name, Why: "it lies at " + words.Brief(address) + ", and rye contacts no source without your yes", Source: r.String()}
				if !declined && !m.q.DryRun {
					p.Code = fault.Denied
				}
				m.passed = append(m.passed, p)
			}
			delete(by, address)
		}
		return by, nil
	}
	return by, err
}

// part adds a plugin's tree.
func (m *market) part(r foreign.Remote, t foreign.Tree, remember func(context.Context, []author.Package) error) error {
	for _, f := range t.Files {
		m.total += int64(len(f.Data))
	}
	if m.total > maxSite {
		return fault.New(fault.Limit, "the plugins have more than %d bytes together; choose some with --skill", maxSite)
	}
	t.Listed = r.Entry
	skills, _ := skillsOf(r, m.q.Skills)
	m.parts = append(m.parts, lockedPart{Part: author.Part{Tree: t, Skills: skills, Name: r.Name}, from: words.Quote(words.Brief(r.Name)) + " from " + words.Brief(r.String()), remember: remember})
	return nil
}

// repository brings the plugins of one repository.
func (m *market) repository(ctx context.Context, all []foreign.Remote) {
	address := all[0].Source.Address
	h, err := contact(m.Desk, address, m.typed(address))
	var refs map[string]store.OID
	var head string
	if err == nil {
		defer h.Close()
		refs, head, err = h.remote.RefsAndHead(ctx, "HEAD", branches, tags)
	}
	for _, r := range all {
		if err == nil {
			if err := m.plugin(ctx, h, r, refs, head); err != nil {
				m.fail(r, err)
			}
			continue
		}
		m.fail(r, err)
	}
}

// plugin brings one plugin of a repository, at the commit that the marketplace lists.
func (m *market) plugin(ctx context.Context, h *host, r foreign.Remote, refs map[string]store.OID, head string) error {
	at, err := h.locked(ctx, r.Source, r.Commit, "the marketplace", refs, head)
	if err != nil {
		return err
	}
	src := r.Source
	g, err := h.get(ctx, m.Desk, src, at)
	if err != nil {
		return err
	}
	if err := sameSigner(ctx, m.Desk, m.st.Sources[src.Address], g.commit, src, m.q.AcceptUpstreamSigner, "add", r.String()); err != nil {
		return err
	}
	g.files.Name = treeName(src)
	g.files.Origin = objects.Origin{Source: sourceName(src), Ref: g.ref, Commit: g.commit.id.String(), Path: src.Path}
	return m.part(r, g.files, func(ctx context.Context, packages []author.Package) error {
		return noteCame(ctx, m.Desk, packages, came{src: src, now: sources{Typed: m.typed(src.Address), Signer: string(g.commit.signer)}, noVendor: m.q.NoVendor, as: m.q.As, tip: g.tip.String()})
	})
}

// archive brings a plugin of an archive. Its digest is compared before anything is unpacked.
func (m *market) archive(ctx context.Context, r foreign.Remote) error {
	t, sum, err := (&download{Desk: m.Desk, address: r.Source.Address, typed: m.typed(r.Source.Address)}).fetch(ctx, r.Sum)
	if err != nil {
		return err
	}
	if r.Sum.IsZero() {
		m.Tell(words.Quote(words.Brief(r.Name)) + ": the marketplace lists no digest of its archive")
	}
	return m.part(r, t, func(ctx context.Context, packages []author.Package) error {
		return noteCame(ctx, m.Desk, packages, came{src: r.Source, now: sources{Typed: m.typed(r.Source.Address)}, noVendor: m.q.NoVendor, as: m.q.As, tip: sum.String()})
	})
}
