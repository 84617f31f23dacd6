package origin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/hosts"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/foreign"
	"github.com/rye-os/rye/objects/foreign/discovery"
	"github.com/rye-os/rye/workspace/internal/author"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// maxSite bounds the bytes of all skills of a site that come in at once.
const maxSite = 256 << 20

// Times for the files of a site.
const (
	indexTime    = 30 * time.Second
	artifactTime = 5 * time.Minute
)

// site is a web site with an index of skills.
type site struct {
	*visitor
	address string // of the index, as an origin keeps it
	index   *discovery.Index
	again   []string // the command for a hint; nil is rye add
}

// openSite reads the index of a site. Without one at the usual place, the place of 0.1.0 is asked.
func openSite(ctx context.Context, d *custody.Desk, address string, typed bool) (*site, error) {
	v, err := visit(d, address, typed)
	if err != nil {
		return nil, err
	}
	for _, at := range placesOf(address) {
		d.Say("fetching " + words.Brief(at))
		p, gerr := v.get(ctx, at, discovery.MaxIndex, indexTime)
		if fault.Is(gerr, fault.NotFound) {
			err = cmp.Or(err, gerr)
			continue
		}
		if gerr != nil {
			return nil, gerr
		}
		ix, err := discovery.Parse(p.body, p.url)
		if err != nil {
			return nil, fault.Wrap(err, "%s", words.Brief(at))
		}
		return &site{visitor: v, address: at, index: ix}, nil
	}
	return nil, noIndex(address, err)
}

// placesOf returns the addresses where an index may be: the one that was asked for, then that of
// 0.1.0.
func placesOf(address string) []string {
	if base, ok := strings.CutSuffix(address, objects.SiteIndex); ok {
		return []string{address, base + objects.SiteIndexFirst}
	}
	return []string{address}
}

// noIndex explains that a site has no index. The index of the whole site is not taken instead of one
// below a path: it names other skills.
func noIndex(address string, err error) error {
	base, _, _ := strings.Cut(address, "/.well-known/")
	e := fault.New(fault.NotFound, "no index of skills there: %w", err)
	if u, perr := url.Parse(base); perr == nil && u.Path != "" {
		return e.Advise("rye add %s://%s looks for the index of the whole site", u.Scheme, u.Host)
	}
	return e
}

// addSite takes in skills of a site.
func addSite(ctx context.Context, d *custody.Desk, q rye.AddRequest, src objects.Source) ([]rye.AddReport, error) {
	s, err := openSite(ctx, d, src.Address, true)
	if err != nil {
		return nil, fault.Wrap(err, "add %s", words.Brief(src.String()))
	}
	skills, passed, err := s.chosen(q.Skills)
	if err != nil {
		return nil, err
	}
	if q.List {
		return listed(skills, passed), nil
	}
	tree, came, passed, err := s.fetch(ctx, q, skills, passed)
	if err != nil {
		return nil, err
	}
	if s.index.Version == "0.1.0" {
		d.Tell("the index is of discovery 0.1.0, which has no digests: nothing but the connection protects these files")
	}
	var parts []author.Part
	if len(tree.Files) > 0 {
		parts = []author.Part{{Tree: tree, Name: siteName(s.address)}}
	}
	reports, packages, err := author.Gathered(ctx, d, q, parts, passed, s.facts())
	if q.DryRun || packages == nil {
		return reports, err
	}
	return reports, cmp.Or(err, s.remember(ctx, packages[0], came, q, true))
}

// chosen returns the skills with these names, and the entries that are skipped.
func (s *site) chosen(names []string) (skills []discovery.Skill, passed []foreign.Passed, err error) {
	for _, name := range names {
		there := slices.ContainsFunc(s.index.Skills, func(k discovery.Skill) bool { return k.Name == name }) ||
			slices.ContainsFunc(s.index.Passed, func(p discovery.Passed) bool { return p.Name == name })
		if !there {
			return nil, nil, fault.New(fault.NotFound, "add %s: no skill %s there", words.Brief(s.address), words.Quote(words.Brief(name))).
				With(fault.CommandOf("rye", "add", s.address, "--list"))
		}
	}
	wanted := func(name string) bool { return len(names) == 0 || slices.Contains(names, name) }
	for _, k := range s.index.Skills {
		if wanted(k.Name) {
			skills = append(skills, k)
		}
	}
	for _, p := range s.index.Passed {
		if wanted(p.Name) {
			passed = append(passed, foreign.Passed{Path: cmp.Or(p.Name, "an entry without a name"), Why: p.Why, Code: p.Code})
		}
	}
	return skills, passed, nil
}

// listed reports the skills of an index, which are not fetched.
func listed(skills []discovery.Skill, passed []foreign.Passed) (all []rye.AddReport) {
	for _, k := range skills {
		all = append(all, rye.AddReport{Name: k.Name, About: k.Description, What: k.Type})
	}
	for _, p := range passed {
		all = append(all, rye.AddReport{Path: p.Path, Why: p.Why, Code: p.Code})
	}
	return all
}

// artifact is what the index says about a skill that came.
type artifact struct{ digest string } // sha256:<hex>; "" for 0.1.0

// fetch fetches skills into one tree, each in a folder of its name. One that fails is named and stops
// no other.
func (s *site) fetch(ctx context.Context, q rye.AddRequest, skills []discovery.Skill, before []foreign.Passed) (t foreign.Tree, came map[string]artifact, passed []foreign.Passed, err error) {
	t = foreign.Tree{Name: siteName(s.address), Origin: objects.Origin{Source: s.address}}
	skills, inside, err := s.elsewhereToo(ctx, q, skills)
	if err != nil {
		return t, nil, nil, err
	}
	passed = slices.Concat(before, inside)
	came = map[string]artifact{}
	total := 0
	for _, k := range skills {
		files, err := s.skill(ctx, k)
		if ctx.Err() != nil {
			return t, nil, nil, err
		}
		for _, f := range files {
			total += len(f.Data)
		}
		if err == nil && total > maxSite {
			err = fault.New(fault.Limit, "the skills have more than %d bytes together", maxSite).Advise("choose some with --skill")
		}
		if err != nil {
			p := foreign.Passed{Path: k.Name, Why: err.Error(), Code: fault.CodeOf(err)}
			if d, ok := differs(err); ok {
				p.Rule, p.Want, p.Got = d.rule, d.want, d.got
			}
			passed = append(passed, p)
			continue
		}
		for _, f := range files {
			f.Path = k.Name + "/" + f.Path
			t.Files = append(t.Files, f)
		}
		a := artifact{}
		if k.Type != discovery.TypeFiles {
			a.digest = k.Digest.String()
		}
		came[k.Name] = a
	}
	return t, came, passed, nil
}

// elsewhereToo asks once about all other hosts that the artifacts lie on. Skills on hosts that no
// index may name are passed over.
func (s *site) elsewhereToo(ctx context.Context, q rye.AddRequest, skills []discovery.Skill) (stay []discovery.Skill, passed []foreign.Passed, err error) {
	other := map[string]int{}
	for _, k := range skills {
		u, err := url.Parse(cmp.Or(k.URL, s.address))
		if err != nil {
			continue
		}
		if at := hostPort(u); !s.agree[at] {
			if why := hosts.Inside(u.Hostname()); why != "" {
				passed = append(passed, foreign.Passed{Path: k.Name, Why: fmt.Sprintf("its url leads to %s, which is not a public host (%s)", words.Quote(words.Brief(u.Host)), why), Code: fault.Denied})
				continue
			}
			other[at]++
		}
		stay = append(stay, k)
	}
	if len(other) == 0 {
		return stay, passed, nil
	}
	ask := rye.Question{Topic: "contact other hosts for " + words.Brief(s.address), Text: "The files lie on " + words.Plural(len(other), "other host") + ". Contact them?",
		Mend: fault.CommandOf(append(s.command(q), "--yes")...)}
	for _, at := range slices.Sorted(maps.Keys(other)) {
		ask.Lines = append(ask.Lines, strings.TrimSuffix(at, ":443")+"  "+words.Plural(other[at], "skill"))
	}
	if len(ask.Lines) > 50 {
		return nil, nil, fault.New(fault.Limit, "add %s: its files lie on %d other hosts", words.Brief(s.address), len(ask.Lines)).Advise("choose some skills with --skill")
	}
	if err := s.d.Ask(ctx, ask); err != nil {
		return nil, nil, err
	}
	for at := range other {
		s.agree[at] = true
	}
	return stay, passed, nil
}

// command is the command that a person typed, for a hint.
func (s *site) command(q rye.AddRequest) []string {
	if s.again != nil {
		return slices.Clone(s.again)
	}
	return []string{"rye", "add", q.URL}
}

// skill fetches the files of one skill. The digest is compared before anything is unpacked.
func (s *site) skill(ctx context.Context, k discovery.Skill) ([]foreign.File, error) {
	s.d.Say("fetching " + k.Name)
	if k.Type != discovery.TypeFiles {
		p, err := s.get(ctx, k.URL, discovery.MaxArtifact, artifactTime)
		if err != nil {
			return nil, err
		}
		if got := objects.DigestOf(p.body); got != k.Digest {
			return nil, &difference{"digest", k.Digest.String(), got.String()}
		}
		return discovery.Unpack(k.Type, p.body)
	}
	var files []foreign.File
	left := int64(discovery.MaxUnpacked)
	for _, f := range k.Files {
		p, err := s.get(ctx, f.URL, left, artifactTime)
		if err != nil {
			return nil, err
		}
		left -= int64(len(p.body))
		files = append(files, foreign.File{Path: f.Path, Data: p.body, Executable: strings.HasPrefix(string(p.body[:min(2, len(p.body))]), "#!")})
	}
	return files, discovery.Check(files)
}

// facts are the lines of the question that tell where the content comes from.
func (s *site) facts() []string {
	lines := []string{"source   " + words.Brief(s.address), "format   discovery " + s.index.Version}
	if s.index.Version == "0.1.0" {
		lines = append(lines, "digests  none")
	}
	return lines
}

// siteName is the host of a site.
func siteName(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "site"
	}
	return u.Hostname()
}

// remember records what came in from a site, and the grant to contact it again.
func (s *site) remember(ctx context.Context, packages []author.Package, arts map[string]artifact, q rye.AddRequest, typed bool) error {
	return noteCame(ctx, s.d, packages, came{src: objects.Source{Kind: objects.SourceSite, Address: s.address}, now: sources{Typed: typed}, noVendor: q.NoVendor, as: q.As, tipOf: func(o *objects.Origin) string {
		name, _, _ := strings.Cut(o.Path, "/")
		return arts[name].digest
	}})
}

// site reports whether a bundle came from a site with an index.
func (b bundle) site() bool {
	src, err := objects.ParseSource(b.pin.Address)
	return err == nil && src.Kind == objects.SourceSite
}

// askSite compares the bundles of a site with its index.
func askSite(ctx context.Context, d *custody.Desk, all []bundle) (map[string]answer, error) {
	s, err := openSite(ctx, d, all[0].pin.Address, all[0].typed)
	now := d.Now().UTC().Format(time.RFC3339)
	answers := map[string]answer{}
	if fault.Is(err, fault.NotFound) {
		for _, b := range all {
			answers[b.name] = answer{Time: now, State: stateGone, Reason: "the site has no index any more"}
		}
		return answers, nil
	}
	if err != nil {
		return nil, err
	}
	for _, b := range all {
		name, _, _ := strings.Cut(b.pin.Path, "/")
		a := answer{Time: now, State: stateOK}
		i := slices.IndexFunc(s.index.Skills, func(k discovery.Skill) bool { return k.Name == name })
		switch {
		case i < 0:
			a.State, a.Reason = stateRemoved, "the index does not name the skill any more"
		case b.pin.Tip == "" || s.index.Skills[i].Type == discovery.TypeFiles:
			a = compareStill(ctx, s, b, a)
		case s.index.Skills[i].Digest.String() != b.pin.Tip:
			a.State, a.Reason = stateOutdated, "the index has another digest"
		}
		answers[b.name] = a
	}
	return answers, nil
}
