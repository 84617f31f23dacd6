package origin

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/diff"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/foreign"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/workspace/internal/author"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// The flags by which a person accepts what --yes does not.
const (
	acceptTag     = "--accept-tag"
	acceptRewrite = "--accept-rewrite"
	acceptNeeds   = "--accept-needs"
	acceptSource  = "--accept-source"
)

// Update brings the newest content of their sources into bundles that have an origin. Local edits
// stay, by a three-way merge. Names that are no such bundles are returned for other commands. The
// report is complete beside an error, which is the first of its bundles.
func Update(ctx context.Context, d *custody.Desk, q rye.OriginUpdateRequest) (*rye.OriginUpdateReport, error) {
	for _, typed := range q.SHA256 {
		if _, err := pinOfArchive(typed); err != nil {
			return nil, err
		}
	}
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
	u := &updating{Desk: d, q: q, rep: &rye.OriginUpdateReport{DryRun: q.DryRun}}
	all, u.rep.Others = chosen(ctx, d.Session, all, q.Names)
	by := bySource(all)
	var first error
	for _, address := range slices.Sorted(maps.Keys(by)) {
		if err := u.source(ctx, by[address]); err != nil {
			first = cmp.Or(first, err)
		}
	}
	return u.rep, first
}

// chosen returns the bundles that were named; all of them without names.
func chosen(ctx context.Context, s *session.Session, all []bundle, names []string) (mine []bundle, others []string) {
	if len(names) == 0 {
		return all, nil
	}
	for _, name := range names {
		id := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSuffix(name, "/"), ".ai/"), objects.BundlesDir+"/")
		if ref, err := session.RefOf(ctx, s, name); err == nil {
			id = string(ref.ID)
		}
		i := slices.IndexFunc(all, func(b bundle) bool { return b.name == id || string(b.manifest.ID) == id })
		if i < 0 {
			others = append(others, name)
			continue
		}
		mine = append(mine, all[i])
	}
	return mine, others
}

// updating is one Update.
type updating struct {
	*custody.Desk
	q   rye.OriginUpdateRequest
	rep *rye.OriginUpdateReport
}

// add reports the outcome for a bundle, and returns its error.
func (u *updating) add(b bundle, o rye.OriginUpdate, err error) error {
	o.Name, o.Source = string(b.manifest.ID), b.manifest.Origin.Source
	o.Was = cmp.Or(o.Was, b.manifest.Origin.Commit)
	if err != nil {
		o.Reason, o.Code, o.Hint = err.Error(), fault.CodeOf(err), fault.HintOf(err)
		if o.State == "" || o.State == stateUpdated {
			o.State = stateFailed
		}
	}
	u.rep.Updates = append(u.rep.Updates, o)
	return err
}

// source updates the bundles of one source, and returns the first error.
func (u *updating) source(ctx context.Context, all []bundle) (first error) {
	fail := func(all []bundle, err error) error {
		for _, b := range all {
			first = cmp.Or(first, u.add(b, rye.OriginUpdate{}, err))
		}
		return first
	}
	var follow, still []bundle
	for _, b := range all {
		switch {
		case b.pin.Ref == "" && b.pin.Commit != "":
			u.add(b, rye.OriginUpdate{State: statePinned, Reason: "it is pinned to a commit; rye add with #<branch or tag> follows one"}, nil)
		case b.still():
			still = append(still, b)
		case !b.contactable():
			u.add(b, rye.OriginUpdate{State: stateUnknown, Reason: "it came from a folder or an archive of another machine; add it again to update it"}, nil)
		default:
			follow = append(follow, b)
		}
	}
	if len(still) > 0 { // then all are
		return u.stills(ctx, still)
	}
	if len(follow) == 0 {
		return nil
	}
	typed, err := mayAsk(ctx, u.Desk, follow, u.q.AcceptSource, "update")
	if err != nil {
		return fail(follow, err)
	}
	h, err := contact(u.Desk, follow[0].pin.Address, typed)
	if err != nil {
		return fail(follow, err)
	}
	defer h.Close()
	var prefixes []string
	for _, b := range follow {
		prefixes = append(prefixes, b.pin.Ref)
	}
	slices.Sort(prefixes)
	refs, _, err := h.remote.RefsAndHead(ctx, slices.Compact(prefixes)...)
	if err != nil {
		return fail(follow, fault.Wrap(err, "update from %s", words.Brief(h.address)))
	}
	came := arrivals{}
	for _, b := range follow {
		first = cmp.Or(first, u.bundle(ctx, h, b, refs[b.pin.Ref], came))
	}
	return first
}

// mayAsk asks whether rye may contact a source that came with a clone. Only a person answers, or a
// flag with the address, which so was typed.
func mayAsk(ctx context.Context, d *custody.Desk, all []bundle, accepted []string, verb string) (typed bool, err error) {
	address := all[0].pin.Address
	if typed = slices.Contains(accepted, address); !typed && all[0].allowed(d) {
		return all[0].typed, nil
	}
	if !typed {
		if why := insideAddress(address); why != "" {
			return false, fault.New(fault.Denied, "%s: the manifest of %s names a host that is not public (%s)", words.Brief(address), all[0].name, why).
				With(fault.CommandOf("rye", verb, acceptSource, address))
		}
		lines := []string{"source   " + words.Brief(address)}
		for _, b := range all[:min(len(all), 20)] {
			lines = append(lines, "for      "+string(b.manifest.ID))
		}
		err := d.Ask(ctx, rye.Question{Topic: "contact " + words.Brief(address), Text: "May rye contact it for this directory?", Lines: lines,
			Flags: []string{acceptSource + " " + address}, Mend: fault.CommandOf("rye", verb, acceptSource, address)})
		if err != nil {
			return false, err
		}
	}
	if err := grant(d, address); err != nil {
		return false, err
	}
	return typed, update(ctx, d, func(st *state) error {
		known := st.Sources[address]
		known.Typed = known.Typed || typed
		st.Sources[address] = known
		return nil
	})
}

// arrivals are the imports of commits, by ref and folder.
type arrivals map[string]*arrived

// arrived is the import of one commit.
type arrived struct {
	*got
	packages []author.Package
	reached  map[string]bool
	digest   string   // of what a source without a history sent; "" for none
	hosts    []string // other hosts that the user agreed to on the way
}

// mark is what tells whether a source has something new.
func (a *arrived) mark() string {
	if a.tip.IsZero() {
		return a.digest
	}
	return a.tip.String()
}

// arrive fetches and imports a source at the tip of a bundle's ref, once for all bundles that came
// the same way.
func (u *updating) arrive(ctx context.Context, h *host, b bundle, tip store.OID, came arrivals) (*arrived, error) {
	key := strings.Join([]string{b.pin.Ref, b.pin.Root, b.pin.As, b.pin.Entry, b.pin.Listed}, "\x00")
	if a := came[key]; a != nil {
		return a, nil
	}
	src := objects.Source{Kind: objects.SourceGit, Address: b.pin.Address, Ref: b.pin.Ref, Path: b.pin.Root}
	g, err := h.get(ctx, u.Desk, src, target{b.pin.Ref, tip})
	if fault.Is(err, fault.NotFound) && src.Path != "" { // moved, perhaps
		src.Path = ""
		g, err = h.get(ctx, u.Desk, src, target{b.pin.Ref, tip})
	}
	if fault.Is(err, fault.Limit) && src.Path == "" && b.pin.Path != "" {
		src.Path = b.pin.Path
		g, err = h.get(ctx, u.Desk, src, target{b.pin.Ref, tip})
	}
	if err != nil {
		return nil, err
	}
	a := &arrived{got: g, reached: map[string]bool{}}
	a.packages, err = imported(u.Desk, src, b.pin, g)
	came[key] = a
	return a, err
}

// imported returns the bundles that a fetched tree gives.
func imported(d *custody.Desk, src objects.Source, pin pinned, g *got) ([]author.Package, error) {
	as, entry := pin.As, ""
	if src.Path == pin.Root {
		g.files.Listed, entry = pin.Listed, pin.Entry
	}
	g.files.Name = treeName(src)
	g.files.Origin = objects.Origin{Source: sourceName(src), Ref: g.ref, Commit: g.commit.id.String(), Path: src.Path}
	if strings.Contains(as, "/") { // a wish for one id: the folder decides which
		as, _, _ = strings.Cut(as, "/")
	}
	return author.Bundles(d, rye.AddRequest{As: as, Entry: entry}, g.files)
}

// of returns the package for a bundle. Where its folder has another path now, renamed is that path.
func (a *arrived) of(b bundle) (p author.Package, renamed string, ok bool) {
	at := func(where string) (found []author.Package) {
		for _, p := range a.packages {
			if p.Origin != nil && p.Origin.Path == where {
				found = append(found, p)
			}
		}
		return found
	}
	where := b.pin.Path
	list := at(where)
	if len(list) == 0 {
		if renamed = a.elsewhere(b); renamed == "" {
			return p, "", false
		}
		list = at(renamed)
	}
	for _, p := range list {
		if p.Dir == b.dir {
			return p, renamed, true
		}
	}
	if len(list) == 0 {
		return p, "", false
	}
	return list[0], renamed, true
}

// broken returns why the folder of a bundle is there and can no longer come in; nil where it is gone.
func (a *arrived) broken(d *custody.Desk, b bundle) error {
	below := strings.TrimPrefix(strings.TrimPrefix(b.pin.Path, a.files.Origin.Path), "/")
	for _, p := range author.Refusals(d, rye.AddRequest{}, a.files) {
		if p.Path == below || strings.HasPrefix(p.Path, below+"/") {
			return fault.New(p.Code, "update %s: %s: %s", b.name, words.Brief(p.Path), p.Why).Advise("the bundle stays as it is until this is mended there")
		}
	}
	return nil
}

// elsewhere finds the folder of a bundle that moved: the one with the same content, else the only
// skill with the same last name.
func (a *arrived) elsewhere(b bundle) string {
	var same, named []string
	for _, p := range a.packages {
		switch o := p.Origin; {
		case o == nil:
		case o.Tree == b.pin.Tree:
			same = append(same, o.Path)
		case path.Base(o.Path) == path.Base(b.pin.Path):
			named = append(named, o.Path)
		}
	}
	slices.Sort(same)
	switch {
	case len(same) > 0:
		return same[0]
	case len(named) == 1:
		return named[0]
	}
	return ""
}

// bundle updates one bundle.
func (u *updating) bundle(ctx context.Context, h *host, b bundle, tip store.OID, came arrivals) error {
	switch {
	case tip.IsZero():
		return u.add(b, rye.OriginUpdate{State: stateGone}, u.named(fault.New(fault.NotFound, "update %s: %s is not there any more", b.name, b.pin.Ref).
			Advise("the bundle stays as it is; rye add with another #<branch or tag> follows that")))
	case tip.String() == b.pin.Tip:
		return u.add(b, rye.OriginUpdate{State: stateOK, Now: b.pin.Commit}, nil)
	}
	a, err := u.arrive(ctx, h, b, tip, came)
	if err != nil {
		return u.add(b, rye.OriginUpdate{}, fault.Wrap(err, "update %s", b.name))
	}
	out := rye.OriginUpdate{Now: a.commit.id.String()}
	other, err := u.mayFollow(ctx, h, b, a)
	if err != nil {
		return u.add(b, out, err)
	}
	p, renamed, ok := a.of(b)
	if out.Renamed = renamed; !ok {
		if err := a.broken(u.Desk, b); err != nil {
			return u.add(b, out, err)
		}
		out.State = stateRemoved
		return u.add(b, out, u.named(fault.New(fault.NotFound, "update %s: the folder %s is not there any more", b.name, words.Quote(b.pin.Path)).
			Advise("the bundle stays as it is; rye remove bundle:%s takes it out", b.name)))
	}
	if p.Origin.Tree == b.pin.Tree && renamed == "" && !other {
		out.State = stateOK
		return u.add(b, out, u.stands(ctx, b, tip))
	}
	return u.renew(ctx, h, b, a, p, out)
}

// renew merges, asks, and writes the next version of a bundle. h is nil for a source without a
// history.
func (u *updating) renew(ctx context.Context, h *host, b bundle, a *arrived, p author.Package, out rye.OriginUpdate) error {
	n, err := u.next(ctx, h, b, p)
	if err != nil {
		return u.add(b, out, fault.Wrap(err, "update %s", b.name))
	}
	n.renamed = out.Renamed
	n.describe(&out, u.q.Diff)
	if u.q.DryRun {
		return u.add(b, out, nil)
	}
	if err := u.Ask(ctx, n.question(a, u.q)); err != nil {
		return u.add(b, out, err)
	}
	if err := u.write(ctx, b, a, p, n); err != nil {
		out.State = stateFailed
		return u.add(b, out, err)
	}
	if len(n.merged.conflicts) == 0 {
		return u.add(b, out, nil)
	}
	return u.add(b, out, fault.New(fault.Conflict, "update %s: %s", b.name, words.Plural(len(n.merged.conflicts), "conflict")).
		Advise("edit the files, then rye sign .ai/%s", b.dir))
}

// named makes the loss of a source's content an error only where the bundle was named.
func (u *updating) named(err error) error {
	if len(u.q.Names) == 0 {
		u.Tell(err.Error())
		return nil
	}
	return err
}

// stands notes that a source has a new commit with the same content for a bundle.
func (u *updating) stands(ctx context.Context, b bundle, tip store.OID) error {
	if u.q.DryRun {
		return nil
	}
	return update(ctx, u.Desk, func(st *state) error {
		pin := b.pin
		pin.Tip, pin.Answer = tip.String(), answer{}
		st.Bundles[b.name] = pin
		return nil
	})
}

// mayFollow stops at a moved tag, a rewritten branch and another signer, unless the flag of each was
// given or a person agrees. other reports that there was one of these.
func (u *updating) mayFollow(ctx context.Context, h *host, b bundle, a *arrived) (other bool, err error) {
	v := &view{h: h, target: a.target, commit: a.commit, reached: a.reached}
	for range 2 { // history, then signer
		why, err := v.forbids(ctx, b)
		if err != nil {
			return other, fault.Wrap(err, "update %s", b.name)
		}
		flag, code, accepted := acceptRewrite, fault.Rollback, u.q.AcceptRewrite
		switch why.state {
		case "":
			return other, nil
		case stateMoved:
			flag, accepted = acceptTag, u.q.AcceptTag
		case stateSigner:
			flag, code, accepted = acceptSigner, fault.Untrusted, u.q.AcceptUpstreamSigner
		}
		if !accepted {
			mend := fault.CommandOf("rye", "update", b.name, flag)
			refused := fault.New(code, "update %s: %s", b.name, why.reason).With(mend)
			if u.q.DryRun {
				return other, refused
			}
			lines := []string{"source   " + shown(b.manifest.Origin), "commit   " + b.pin.Commit, "now      " + a.commit.id.String()}
			if why.state == stateSigner {
				lines = append(lines, "until now signed by "+b.signer)
			}
			err := u.Ask(ctx, rye.Question{Topic: "update " + b.name, Text: "Accept that " + why.reason + "?", Lines: lines, Flags: []string{flag}, Mend: mend})
			if err != nil {
				return other, refusedAs(refused, err)
			}
		}
		if other, v.accepted = true, true; why.state == stateSigner {
			return other, nil
		}
	}
	return other, nil
}

// refusedAs gives a refusal the code of its reason, unless a person said no.
func refusedAs(refused *fault.Error, err error) error {
	var no *rye.Unagreed
	if errors.As(err, &no) && no.How == rye.Declined {
		return err
	}
	return refused
}

// next is the next version of a bundle, not written yet.
type next struct {
	bundle   bundle
	base     members // upstream's content as it was
	ours     []store.Change
	theirs   members
	manifest *objects.Manifest
	raw      []byte // unsigned
	merged   merged
	sign     bool
	noBase   bool
	renamed  string
	left     []string // author.Package.Left
}

// next merges upstream's change into the user's files.
func (u *updating) next(ctx context.Context, h *host, b bundle, p author.Package) (*next, error) {
	l := u.Stack.Project
	here, err := l.Contents(ctx, b.dir)
	if err != nil {
		return nil, err
	}
	here = slices.DeleteFunc(here, func(c store.Change) bool { return c.Path == b.dir+"/"+objects.ManifestName })
	n := &next{bundle: b, left: p.Left, ours: here, theirs: membersOf(p.Dir, p.Files), sign: author.Signable(u.Desk, b.manifest)}
	ours := membersOf(b.dir, here)
	if len(ours) == 0 && len(b.manifest.Files) > 0 {
		return nil, fault.New(fault.NotFound, "only its manifest is here").Mend("rye pull")
	}
	if n.base, err = u.base(ctx, h, b, ours); err != nil {
		return nil, err
	}
	n.noBase = n.base == nil
	n.merged = mergeFiles(n.base, ours, n.theirs, diff.Marks{Ours: "yours", Theirs: strings.TrimSpace("upstream " + p.Origin.Commit[:min(12, len(p.Origin.Commit))])})
	n.sign = n.sign && len(n.merged.conflicts) == 0
	n.manifest = &objects.Manifest{ID: b.manifest.ID, Version: versionOf(b.dir, b.manifest, n.merged.files), Origin: p.Origin, Needs: b.manifest.Needs, Deps: b.manifest.Deps}
	for _, path := range slices.Sorted(maps.Keys(n.merged.files)) {
		f := n.merged.files[path]
		n.manifest.Files = append(n.manifest.Files, objects.File{Path: path, Executable: f.exec, Size: int64(len(f.data)), Sum: objects.DigestOf(f.data)})
	}
	n.raw, err = n.manifest.Encode()
	return n, err
}

// versionOf is the version that the entry of a bundle states, else the one before.
func versionOf(dir string, old *objects.Manifest, files members) string {
	for p, f := range files {
		ref, _, err := objects.RefOfPath(dir + "/" + p)
		if err != nil || strings.Contains(p, "/") || ref.ID != old.Ref().ID {
			continue
		}
		if it, err := objects.Parse(dir+"/"+p, f.data); err == nil && it.Meta.Version != "" {
			if v, err := objects.ParseVersion(it.Meta.Version); err == nil {
				return v.String()
			}
		}
	}
	return old.Version
}

// base returns upstream's content at the pinned commit, as the bundle holds it: from the record;
// else the user's files where they are that content; else from the source. nil is none.
func (u *updating) base(ctx context.Context, h *host, b bundle, ours members) (members, error) {
	base, err := baseOf(ctx, u.Desk, b.name, b.manifest.Origin)
	if base != nil || err != nil {
		return base, err
	}
	if treeOf(ours) == b.manifest.Origin.Tree {
		return ours, nil
	}
	if h == nil {
		u.Tell("update " + b.name + ": its source keeps no earlier versions, and neither does this record, so every difference is a conflict")
		return nil, nil
	}
	packages, err := fetchPinned(ctx, u.Desk, h, b)
	if err != nil {
		if c := fault.CodeOf(err); c == fault.Integrity {
			return nil, err
		}
		u.Tell("update " + b.name + ": the content of " + b.pin.Commit[:min(12, len(b.pin.Commit))] + " is not to be had any more, so every difference is a conflict")
		return nil, nil
	}
	for _, p := range packages {
		if p.Origin.Path == b.pin.Path {
			return membersOf(p.Dir, p.Files), nil
		}
	}
	return nil, nil
}

// fetchPinned fetches and imports the pinned commit of a bundle. Its digest is enough: the folder has
// to be the one that the manifest names.
func fetchPinned(ctx context.Context, d *custody.Desk, h *host, b bundle) ([]author.Package, error) {
	id, err := store.ParseOID(b.pin.Commit)
	if err != nil {
		return nil, err
	}
	// Links may lead out of the bundle's folder, so the folder that was added comes whole.
	src := objects.Source{Kind: objects.SourceGit, Address: b.pin.Address, Path: b.pin.Root}
	g, err := h.get(ctx, d, src, target{"", id})
	if fault.Is(err, fault.Limit) && src.Path != b.pin.Path {
		src.Path = b.pin.Path
		g, err = h.get(ctx, d, src, target{"", id})
	}
	if err != nil {
		return nil, err
	}
	o := b.manifest.Origin
	below := strings.TrimPrefix(strings.TrimPrefix(b.pin.Path, src.Path), "/")
	if tree, sum, err := foreign.Hash(g.files, below); err != nil || tree != o.Tree || sum != o.Sum {
		return nil, fault.New(fault.Integrity, "%s at %s is not the content that the manifest names", words.Brief(src.String()), short(id)).
			Advise("the manifest states another folder than the one that came; add the bundle again")
	}
	as, _, _ := strings.Cut(b.name, "/")
	g.ref = b.pin.Ref
	return imported(d, src, pinned{As: as, Root: b.pin.Root, Entry: b.pin.Entry, Listed: b.pin.Listed}, g)
}

// treeOf is the id of the git tree of a version that holds a folder whole.
func treeOf(files members) string {
	var t foreign.Tree
	for p, f := range files {
		t.Files = append(t.Files, foreign.File{Path: p, Data: f.data, Executable: f.exec})
	}
	tree, _, err := foreign.Hash(t, "")
	if err != nil {
		return ""
	}
	return tree
}

// write writes the next version of a bundle, and remembers where it came from.
func (u *updating) write(ctx context.Context, b bundle, a *arrived, p author.Package, n *next) error {
	was := append(slices.Clip(n.ours), store.Change{Path: b.dir + "/" + objects.ManifestName, Data: b.manifest.Item().Raw})
	r := author.Renewal{Dir: b.dir, Manifest: n.raw, Was: was, Sign: n.sign}
	for _, path := range slices.Sorted(maps.Keys(n.merged.files)) {
		f := n.merged.files[path]
		r.Files = append(r.Files, store.Change{Path: b.dir + "/" + path, Data: f.data, Mode: f.mode()})
	}
	if _, err := author.Renew(ctx, u.Desk, r); err != nil {
		return fault.Wrap(err, "update %s", b.name)
	}
	u.signedAgain(b, n)
	if err := keepBase(ctx, u.Desk, b.name, p.Origin, n.theirs); err != nil {
		return err
	}
	pin := b.pin
	pin.Commit, pin.Path, pin.Tree, pin.Tip, pin.Answer = p.Origin.Commit, p.Origin.Path, p.Origin.Tree, a.mark(), answer{}
	return update(ctx, u.Desk, func(st *state) error {
		st.Bundles[b.name] = pin
		known := st.Sources[pin.Address]
		if a.signer != "" || u.q.AcceptUpstreamSigner {
			known.Signer = string(a.signer)
		}
		if len(a.hosts) > 0 {
			known.Hosts = a.hosts
		}
		st.Sources[pin.Address] = known
		return nil
	})
}
