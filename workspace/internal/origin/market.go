package origin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

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
	if q.SHA256 != "" && (!archiveAddress(t.Origin.Source) && !slices.ContainsFunc(remotes, func(r foreign.Remote) bool { return r.Source.Kind == objects.SourceArchive && r.Sum.IsZero() })) {
		return nil, nil, onlyArchives(cmp.Or(q.URL, q.Path))
	}
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

// archiveAddress reports whether the source of an origin is an archive from the network.
func archiveAddress(source string) bool {
	src, err := objects.ParseSource(source)
	return err == nil && src.Kind == objects.SourceArchive && !src.Local()
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
	came, err := m.fetchAll(ctx, by)
	if err != nil {
		return err
	}
	for _, c := range came { // in the order of the sources, whichever came first
		if c.err == nil {
			c.err = m.take(ctx, c)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if c.err != nil {
			m.fail(c.Remote, c.err)
		}
	}
	return nil
}

// Bounds of what a marketplace brings from other places.
const (
	maxAtOnce  = 4                // sources that are fetched at once
	marketTime = 15 * time.Minute // for all sources together
)

// cameFrom is a plugin that was fetched, or the reason why it was not.
type cameFrom struct {
	foreign.Remote
	tree  foreign.Tree
	got   *got           // of a repository
	sum   objects.Digest // of an archive
	hosts []string
	err   error
}

// fetchAll fetches the plugins of all sources, a few at a time, within one budget of bytes and time. It
// asks nothing, and returns them in the order of their sources.
func (m *market) fetchAll(ctx context.Context, by map[string][]foreign.Remote) ([]cameFrom, error) {
	within, cancel := context.WithTimeout(ctx, marketTime)
	defer cancel()
	addresses := slices.Sorted(maps.Keys(by))
	all := make([][]cameFrom, len(addresses))
	var bytes atomic.Int64
	var wg sync.WaitGroup
	turn := make(chan struct{}, maxAtOnce)
	for i, address := range addresses {
		turn <- struct{}{}
		wg.Go(func() {
			defer func() { <-turn }()
			all[i] = m.source(within, by[address], &bytes)
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return slices.Concat(all...), nil
}

// source fetches the plugins of one source. Beyond the budget of bytes it fetches nothing: the plugins
// before it in order fill the budget already.
func (m *market) source(ctx context.Context, all []foreign.Remote, bytes *atomic.Int64) (came []cameFrom) {
	fetch := m.archive
	if all[0].Source.Kind != objects.SourceArchive {
		var closing func()
		fetch, closing = m.repository(ctx, all[0].Source.Address)
		defer closing()
	}
	for _, r := range all {
		c := cameFrom{Remote: r}
		switch {
		case ctx.Err() != nil:
			c.err = fault.New(fault.Network, "the sources were not fetched in %v", marketTime).Advise("choose some with --skill")
		case bytes.Load() > maxSite:
			c.err = tooLarge()
		default:
			c.err = fetch(ctx, &c)
		}
		for _, f := range c.tree.Files {
			bytes.Add(int64(len(f.Data)))
		}
		came = append(came, c)
	}
	return came
}

func tooLarge() error {
	return fault.New(fault.Limit, "the plugins have more than %d bytes together; choose some with --skill", maxSite)
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

// take asks what has to be asked about a plugin that was fetched, and adds its tree.
func (m *market) take(ctx context.Context, c cameFrom) error {
	how := came{src: c.Source, now: sources{Typed: m.typed(c.Source.Address), Hosts: c.hosts}, noVendor: m.q.NoVendor, as: m.q.As}
	if c.got != nil {
		if err := sameSigner(ctx, m.Desk, m.st.Sources[c.Source.Address], c.got.commit, c.Source, m.q.AcceptUpstreamSigner, "add", c.Remote.String()); err != nil {
			return err
		}
		how.now.Signer, how.tip = string(c.got.commit.signer), c.got.tip.String()
	} else {
		if err := m.pinnedArchive(ctx, c); err != nil {
			return err
		}
		how.tip = c.sum.String()
	}
	for _, f := range c.tree.Files {
		m.total += int64(len(f.Data))
	}
	if m.total > maxSite {
		return tooLarge()
	}
	c.tree.Listed = c.Entry
	skills, _ := skillsOf(c.Remote, m.q.Skills)
	m.parts = append(m.parts, lockedPart{Part: author.Part{Tree: c.tree, Skills: skills, Name: c.Name}, from: words.Quote(words.Brief(c.Name)) + " from " + words.Brief(c.Remote.String()),
		remember: func(ctx context.Context, packages []author.Package) error {
			return noteCame(ctx, m.Desk, packages, how)
		}})
	return nil
}

// pinnedArchive is the rule of rye add for an archive whose digest the marketplace does not list: the
// user pins it, or is shown it. --yes alone is not enough.
func (m *market) pinnedArchive(ctx context.Context, c cameFrom) error {
	if !c.Sum.IsZero() || is(m.q.SHA256, c.sum.String()) {
		return nil
	}
	if m.q.DryRun {
		m.Tell(words.Quote(words.Brief(c.Name)) + ": the marketplace lists no digest of its archive, which is " + c.sum.String())
		return nil
	}
	again := fault.CommandOf("rye", "add", cmp.Or(m.q.URL, m.q.Path), "--skill", c.Name, acceptArchive, c.sum.String(), "--yes")
	err := m.Ask(ctx, rye.Question{Topic: "take the archive of " + words.Quote(words.Brief(c.Name)), Text: "The marketplace lists no digest of it. Take these bytes?",
		Lines: []string{"source   " + words.Brief(c.Source.Address), "archive  " + c.sum.String()}, Flags: []string{acceptArchive + " " + c.sum.String()}, Mend: again})
	if no := (*rye.Unagreed)(nil); errors.As(err, &no) && no.How == rye.Declined {
		return err
	}
	if err != nil {
		return fault.New(fault.Denied, "the marketplace lists no digest of its archive, which is %s: %s takes it", c.sum, again)
	}
	return nil
}

// repository opens one repository. The first function fetches a plugin of it, at the commit that the
// marketplace lists.
func (m *market) repository(ctx context.Context, address string) (fetch func(context.Context, *cameFrom) error, closing func()) {
	h, err := contact(m.Desk, address, m.typed(address))
	var refs map[string]store.OID
	var head string
	if err == nil {
		closing = h.Close
		refs, head, err = h.remote.RefsAndHead(ctx, "HEAD", branches, tags)
	} else {
		closing = func() {}
	}
	return func(ctx context.Context, c *cameFrom) error {
		if err != nil {
			return err
		}
		at, err := h.locked(ctx, c.Source, c.Commit, "the marketplace", refs, head)
		if err != nil {
			return err
		}
		g, err := h.get(ctx, m.Desk, c.Source, at)
		if err != nil {
			return err
		}
		c.got, c.tree = g, g.files
		c.tree.Name = treeName(c.Source)
		c.tree.Origin = objects.Origin{Source: sourceName(c.Source), Ref: g.ref, Commit: g.commit.id.String(), Path: c.Source.Path}
		return nil
	}, closing
}

// archive fetches a plugin's archive. Its digest is compared before anything is unpacked.
func (m *market) archive(ctx context.Context, c *cameFrom) (err error) {
	from := &download{Desk: m.Desk, address: c.Source.Address, typed: m.typed(c.Source.Address), hosts: slices.Clone(m.st.Sources[c.Source.Address].Hosts)}
	c.tree, c.sum, err = from.fetch(ctx, c.Sum)
	return err
}
