package origin

import (
	"cmp"
	"context"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/foreign"
	"github.com/rye-os/rye/workspace/internal/author"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// download is one archive by HTTPS.
type download struct {
	*custody.Desk
	address string
	typed   bool     // a person typed the address
	hosts   []string // with port: other hosts that the user agreed to, to which redirects may lead
	again   []string // the command for a question about another host; nil asks about none
}

// fetch fetches the archive and unpacks it. A promised digest is compared before.
func (d *download) fetch(ctx context.Context, want objects.Digest) (t foreign.Tree, sum objects.Digest, err error) {
	rules, err := d.Rules()
	if err == nil {
		err = session.AdmitSource(rules.Demands, d.address)
	}
	if err != nil {
		return t, sum, err
	}
	v, err := visit(d.Desk, d.address, d.typed)
	if err != nil {
		return t, sum, err
	}
	for _, at := range d.hosts {
		v.agree[at] = true
	}
	if d.again != nil {
		v.more = d.follow
	}
	d.Say("fetching " + words.Brief(d.address))
	p, err := v.get(ctx, d.address, author.MaxArchive, artifactTime)
	if err != nil {
		return t, sum, err
	}
	if sum = objects.DigestOf(p.body); !want.IsZero() && sum != want {
		return t, sum, &difference{"sha256", want.String(), sum.String()}
	}
	t, err = author.Archive(d.address[strings.LastIndexByte(d.address, '/')+1:], p.body)
	t.Origin = objects.Origin{Source: d.address}
	return t, sum, err
}

// follow asks whether rye may fetch the archive from another public host.
func (d *download) follow(ctx context.Context, from, to *url.URL) error {
	at := hostPort(to)
	err := d.Ask(ctx, rye.Question{Topic: "contact another host for " + words.Brief(d.address), Text: "The archive lies on another host. Contact it?",
		Lines: []string{words.Brief(from.Host) + " redirects to", strings.TrimSuffix(words.Brief(at), ":443")}, Mend: fault.CommandOf(append(slices.Clone(d.again), "--yes")...)})
	if err == nil {
		d.hosts = append(d.hosts, at)
	}
	return err
}

func onlyArchives(source string) error {
	return fault.New(fault.Usage, "add %s: --sha256 is for an archive by https whose digest nothing states", words.Brief(source)).Advise("leave it out")
}

// within returns the folder of a tree without a history.
func within(t foreign.Tree, dir string) (foreign.Tree, error) {
	if dir == "" {
		return t, nil
	}
	in := foreign.Tree{Name: path.Base(dir), Origin: t.Origin}
	in.Origin.Path = path.Join(t.Origin.Path, dir)
	for _, f := range t.Files {
		switch below, is := strings.CutPrefix(f.Path, dir+"/"); {
		case is:
			f.Path = below
			in.Files = append(in.Files, f)
		case f.Path == dir:
			return in, fault.New(fault.NotFound, "%s is no folder there", words.Quote(dir)).Advise("name its folder, %s", words.Quote(path.Dir(dir)))
		}
	}
	for _, l := range t.Links {
		if below, is := strings.CutPrefix(l.Path, dir+"/"); is {
			l.Path = below
			in.Links = append(in.Links, l)
		}
	}
	for _, p := range t.Passed {
		if below, is := strings.CutPrefix(p.Path, dir+"/"); is {
			p.Path = below
			in.Passed = append(in.Passed, p)
		}
	}
	if len(in.Files)+len(in.Links)+len(in.Passed) == 0 {
		return in, fault.New(fault.NotFound, "no folder %s there", words.Quote(dir))
	}
	return in, nil
}

// addArchive takes in an archive whose address a person typed. Its bytes are those of the digest that
// the person pinned, or is shown.
func addArchive(ctx context.Context, d *custody.Desk, q rye.AddRequest, src objects.Source) ([]rye.AddReport, error) {
	if _, err := d.Acting(q.DryRun); err != nil {
		return nil, err
	}
	var want objects.Digest
	if q.SHA256 != "" {
		var err error
		if want, err = pinOfArchive(q.SHA256); err != nil {
			return nil, err
		}
	}
	from := &download{Desk: d, address: src.Address, typed: true, again: []string{"rye", "add", q.URL}}
	t, sum, err := from.fetch(ctx, want)
	if err == nil {
		t, err = within(t, src.Path)
	}
	if err != nil {
		return nil, fault.Wrap(err, "add %s", words.Brief(src.String()))
	}
	if want.IsZero() {
		q.Unpinned = sum
	}
	if q.DryRun {
		d.Tell("the archive is " + sum.String())
	}
	facts := []string{"source   " + words.Brief(src.Address), "archive  " + sum.String()}
	if src.Path != "" {
		facts = append(facts, "folder   "+src.Path)
	}
	reports, packages, err := addTree(ctx, d, q, t, facts)
	if q.DryRun || len(packages) == 0 {
		return reports, err
	}
	return reports, cmp.Or(err, noteCame(ctx, d, packages, came{src: src, now: sources{Typed: true, Hosts: from.hosts}, noVendor: q.NoVendor, as: q.As, tip: sum.String()}))
}
