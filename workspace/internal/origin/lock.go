package origin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/foreign"
	"github.com/rye-os/rye/objects/foreign/lockfile"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/workspace/internal/author"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// addLock takes over the entries of another tool's lock file: each from its source, at its locked
// commit, and with the bytes that the lock file promises. An entry that differs or cannot be fetched
// is named, and stops no other.
func addLock(ctx context.Context, d *custody.Desk, q rye.AddRequest, src objects.Source) ([]rye.AddReport, error) {
	base := filepath.Base(src.Address)
	raw, err := place.Read(src.Address, lockfile.MaxSize)
	if err != nil {
		return nil, fault.Wrap(err, "add %s", words.Brief(base))
	}
	l, err := lockfile.Read(base, raw)
	if err != nil {
		return nil, err
	}
	t := &takeover{Desk: d, q: q, lock: l, dir: filepath.Dir(src.Address), name: base}
	if t.st, err = load(d.Session); err != nil {
		return nil, err
	}
	entries, err := t.chosen()
	if err != nil {
		return nil, err
	}
	if q.List {
		return t.listed(entries), nil
	}
	t.tell()
	by, err := t.mayContact(ctx, entries)
	if err != nil {
		return nil, err
	}
	for _, address := range slices.Sorted(maps.Keys(by)) {
		t.source(ctx, by[address])
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	parts := make([]author.Part, 0, len(t.parts))
	for _, p := range t.parts {
		parts = append(parts, p.Part)
	}
	reports, packages, err := author.Gathered(ctx, d, q, parts, t.passed, t.facts())
	if q.DryRun || packages == nil {
		return reports, err
	}
	for i, p := range t.parts {
		err = cmp.Or(err, p.remember(ctx, packages[i]))
	}
	return reports, err
}

// takeover is one import of a lock file.
type takeover struct {
	*custody.Desk
	q    rye.AddRequest
	st   *state
	lock *lockfile.Lock
	dir  string // the folder of the lock file
	name string // of the lock file

	parts  []lockedPart
	passed []foreign.Passed
	equal  int // hashes that were compared and are equal
}

// lockedPart is the content of one entry, and how its origin is remembered.
type lockedPart struct {
	author.Part
	from     string // for the question
	remember func(context.Context, []author.Package) error
}

// fail names an entry that does not come in.
func (t *takeover) fail(e lockfile.Entry, err error) {
	p := foreign.Passed{Path: e.Name, Why: err.Error(), Code: fault.CodeOf(err)}
	if d, ok := differs(err); ok {
		p.Rule, p.Want, p.Got = d.rule, d.want, d.got
	}
	t.passed = append(t.passed, p)
}

// chosen returns the entries that rye can take over, of those that the request names.
func (t *takeover) chosen() (all []lockfile.Entry, err error) {
	found := map[string]bool{}
	for _, e := range t.lock.Entries {
		if len(t.q.Skills) > 0 {
			mine := slices.DeleteFunc(slices.Clone(t.q.Skills), func(name string) bool { return !slices.Contains(e.Skills, name) })
			switch {
			case slices.Contains(t.q.Skills, e.Name):
				found[e.Name] = true
			case len(mine) > 0:
				e.Skills = mine
			default:
				continue
			}
			for _, name := range mine {
				found[name] = true
			}
		}
		if e.Why != "" {
			t.passed = append(t.passed, foreign.Passed{Path: e.Name, Why: e.Why, Code: fault.Denied, Source: t.instead(e)})
			continue
		}
		all = append(all, e)
	}
	for _, name := range t.q.Skills {
		if !found[name] {
			return nil, fault.New(fault.NotFound, "add %s: no entry %s in it", t.name, words.Quote(words.Brief(name))).With(fault.CommandOf("rye", "add", t.q.URL, "--list"))
		}
	}
	if len(all) == 0 && len(t.passed) == 0 {
		return nil, fault.New(fault.NotFound, "add %s: it has no entries", t.name)
	}
	return all, nil
}

// instead returns a source that a person can add instead of an entry; "" for none.
func (t *takeover) instead(e lockfile.Entry) string {
	if !strings.HasPrefix(e.Try, "./") {
		return e.Try
	}
	p := filepath.Join(t.dir, filepath.FromSlash(e.Try))
	if st, err := os.Stat(p); err != nil || !st.IsDir() {
		return ""
	}
	return p
}

// listed reports the entries without contacting their sources.
func (t *takeover) listed(entries []lockfile.Entry) (all []rye.AddReport) {
	for _, e := range entries {
		all = append(all, rye.AddReport{Name: e.Name, About: shownEntry(e), What: "locked by " + string(t.lock.Tool)})
	}
	for _, p := range t.passed {
		all = append(all, rye.AddReport{Path: p.Path, Why: p.Why, Code: p.Code})
	}
	return all
}

// shownEntry names the source of an entry.
func shownEntry(e lockfile.Entry) string {
	s := e.Source.String()
	if e.Commit != "" {
		s += " at " + e.Commit[:12]
	}
	return words.Brief(s)
}

// tell says what rye does not take over or compare.
func (t *takeover) tell() {
	if n := t.lock.Unknown; n > 0 {
		t.Tell(words.Plural(n, "field") + " of " + t.name + " are unknown to this rye, and ignored")
	}
	for _, part := range t.lock.Passed {
		t.Tell(part + " of " + t.name + " is not taken over")
	}
}

// mayContact asks once about all sources that no one agreed to yet, and returns the entries by
// source.
func (t *takeover) mayContact(ctx context.Context, entries []lockfile.Entry) (by map[string][]lockfile.Entry, err error) {
	by = map[string][]lockfile.Entry{}
	fresh := map[string]bool{}
	for _, e := range entries {
		address := e.Source.Address
		if e.Source.Kind != objects.SourceFolder {
			if why := insideAddress(address); why != "" && !t.typed(address) {
				t.fail(e, fault.New(fault.Denied, "%s is not a public host (%s), and only --accept-source %s lets rye contact it", words.Brief(address), why, words.Brief(address)))
				continue
			}
			if !t.typed(address) && !granted(t.Desk, address) {
				fresh[address] = true
			}
		}
		by[address] = append(by[address], e)
	}
	if len(fresh) == 0 {
		return by, nil
	}
	ask := rye.Question{Topic: "contact the sources in " + t.name, Text: fmt.Sprintf("Contact %s for this directory?", words.Plural(len(fresh), "source")),
		Mend: fault.CommandOf("rye", "add", t.q.URL, "--yes")}
	for _, address := range slices.Sorted(maps.Keys(fresh)) {
		ask.Lines = append(ask.Lines, words.Brief(address)+"  "+words.Plural(len(by[address]), "entry"))
	}
	return by, t.Ask(ctx, ask)
}

// typed reports whether a person named an address.
func (t *takeover) typed(address string) bool {
	return slices.Contains(t.q.AcceptSource, address) || t.st.Sources[address].Typed
}

// source fetches the entries of one source.
func (t *takeover) source(ctx context.Context, all []lockfile.Entry) {
	switch all[0].Source.Kind {
	case objects.SourceFolder:
		for _, e := range all {
			if err := t.folder(ctx, e); err != nil {
				t.fail(e, err)
			}
		}
	case objects.SourceSite:
		t.site(ctx, all)
	default:
		t.repository(ctx, all)
	}
}

// folder takes an entry from a folder below the lock file's.
func (t *takeover) folder(ctx context.Context, e lockfile.Entry) error {
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if st, err := root.Stat(filepath.FromSlash(e.Source.Address)); err != nil || !st.IsDir() { // also where a link leads out
		return fault.New(fault.NotFound, "no folder %s beside the lock file", words.Quote(words.Brief(e.Source.Address)))
	}
	tree, err := author.Folder(ctx, filepath.Join(t.dir, filepath.FromSlash(e.Source.Address)))
	if err != nil {
		return err
	}
	part := lockedPart{Part: author.Part{Tree: tree, Skills: e.Skills, Name: e.Name}, from: e.Source.Address,
		remember: func(context.Context, []author.Package) error { return nil }}
	return t.compared(e, part, "")
}

// site takes entries from a site with an index of skills.
func (t *takeover) site(ctx context.Context, all []lockfile.Entry) {
	fail := func(err error) {
		for _, e := range all {
			t.fail(e, err)
		}
	}
	address := all[0].Source.Address
	s, err := openSite(ctx, t.Desk, address, t.typed(address))
	if err != nil {
		fail(err)
		return
	}
	for _, e := range all {
		skills, passed, err := s.chosen(e.Skills)
		if err == nil && len(passed) > 0 {
			err = fault.New(cmp.Or(passed[0].Code, fault.Malformed), "%s", passed[0].Why)
		}
		if err != nil {
			t.fail(e, err)
			continue
		}
		tree, came, passed, err := s.fetch(ctx, t.q, skills, nil)
		if err != nil {
			t.fail(e, err)
			continue
		}
		if len(passed) > 0 {
			p := passed[0]
			p.Path = e.Name
			t.passed = append(t.passed, p)
			continue
		}
		part := lockedPart{Part: author.Part{Tree: tree, Name: e.Name}, from: s.address,
			remember: func(ctx context.Context, packages []author.Package) error {
				return s.remember(ctx, packages, came, t.q, t.typed(address))
			}}
		if err := t.compared(e, part, came[e.Skills[0]].digest); err != nil {
			t.fail(e, err)
		}
	}
}

// repository takes entries from a repository.
func (t *takeover) repository(ctx context.Context, all []lockfile.Entry) {
	address := all[0].Source.Address
	h, err := contact(t.Desk, address, t.typed(address))
	var refs map[string]store.OID
	var head string
	if err == nil {
		defer h.Close()
		refs, head, err = h.remote.RefsAndHead(ctx, "HEAD", branches, tags)
	}
	if err != nil {
		for _, e := range all {
			t.fail(e, err)
		}
		return
	}
	whole := map[target]*got{} // of a commit with several entries
	count := map[string]int{}
	for _, e := range all {
		count[e.Source.Ref+"\x00"+e.Commit]++
	}
	for _, e := range all {
		if err := t.entry(ctx, h, e, refs, head, whole, count[e.Source.Ref+"\x00"+e.Commit] > 1); err != nil {
			t.fail(e, err)
		}
	}
}

// entry takes one entry from a repository.
func (t *takeover) entry(ctx context.Context, h *host, e lockfile.Entry, refs map[string]store.OID, head string, whole map[target]*got, several bool) error {
	at, err := h.locked(ctx, e.Source, e.Commit, "the lock", refs, head)
	if err != nil {
		return err
	}
	src := e.Source
	g := whole[at]
	if g == nil {
		fetch := src
		if several {
			fetch.Path = ""
		}
		if g, err = h.get(ctx, t.Desk, fetch, at); err != nil {
			return err
		}
		if several {
			whole[at] = g
		}
	}
	if several {
		if g, err = h.below(ctx, g, src.Path); err != nil {
			return err
		}
	}
	name := shownEntry(e)
	if err := sameSigner(ctx, t.Desk, t.st.Sources[src.Address], g.commit, src, t.q.AcceptUpstreamSigner, "add", t.q.URL); err != nil {
		return err
	}
	g.files.Name = treeName(src)
	g.files.Origin = objects.Origin{Source: sourceName(src), Ref: g.ref, Commit: g.commit.id.String(), Path: src.Path}
	part := lockedPart{Part: author.Part{Tree: g.files, Skills: e.Skills, Name: e.Name}, from: name}
	part.remember = func(ctx context.Context, packages []author.Package) error {
		return noteCame(ctx, t.Desk, packages, came{src: src, now: sources{Typed: t.typed(src.Address), Signer: string(g.commit.signer)}, noVendor: t.q.NoVendor, as: t.q.As, tip: g.tip.String()})
	}
	return t.compared(e, part, "")
}

// below returns the content of a folder of a commit that was fetched whole.
func (h *host) below(ctx context.Context, g *got, dir string) (*got, error) {
	root, err := folderAt(&h.repo.Reader, g.commit.tree, dir)
	if err != nil {
		return nil, err
	}
	files, err := filesOf(ctx, &h.repo.Reader, root)
	return &got{files: files, target: g.target, commit: g.commit}, err
}

// locked returns the target for the commit that a lock file or a marketplace names. The commit has to be in the
// history of the source's branch, or be what its tag names; without a ref, in any of them.
func (h *host) locked(ctx context.Context, src objects.Source, commit, by string, refs map[string]store.OID, head string) (target, error) {
	at, err := resolve(src, refs, head)
	if err != nil || commit == "" {
		if err == nil && at.ref == "" {
			err = h.belongs(ctx, at.tip, refs)
		}
		return at, err
	}
	want, err := store.ParseOID(commit)
	if err != nil || at.tip == want {
		if err == nil && at.ref == "" {
			err = h.belongs(ctx, want, refs)
		}
		return at, err
	}
	name := strings.TrimPrefix(strings.TrimPrefix(at.ref, branches), tags)
	switch {
	case at.ref == "":
		return at, fault.New(fault.Malformed, "%s names two commits, %s and %s", by, short(at.tip), short(want))
	case strings.HasPrefix(at.ref, tags):
		v, err := h.view(ctx, at)
		if err == nil && v.commit.id != want {
			err = fault.New(fault.Rollback, "the tag %s names commit %s now, and %s has %s", words.Quote(words.Brief(name)), short(v.commit.id), by, short(want))
		}
		return at, err
	}
	ok, err := h.reaches(ctx, []store.OID{at.tip}, want)
	switch {
	case err != nil:
		return at, err
	case ok:
		return target{at.ref, want}, nil
	case src.Ref != "":
		return at, fault.New(fault.Rollback, "the branch %s no longer has commit %s of %s", words.Quote(words.Brief(name)), short(want), by)
	}
	return target{tip: want}, h.belongs(ctx, want, refs)
}

// compared adds a part if its bytes are those that the lock file promises.
func (t *takeover) compared(e lockfile.Entry, part lockedPart, artifact string) error {
	dir, err := t.hashed(e, part.Part)
	if err != nil {
		return err
	}
	if len(e.Sums) > 0 {
		f, err := contentOf(part.Tree, dir)
		if err != nil {
			return err
		}
		f.Artifact = artifact
		for _, sum := range e.Sums {
			o := sum.Check(f)
			if !o.Same {
				return &difference{string(o.Rule), o.Value, o.Found}
			}
			if t.equal++; o.Note != "" {
				t.Tell(words.Quote(words.Brief(e.Name)) + ": " + o.Note)
			}
		}
	}
	for _, note := range e.Note {
		t.Tell(words.Quote(words.Brief(e.Name)) + ": " + note)
	}
	if len(e.Sums) == 0 && e.Commit == "" {
		t.Tell(words.Quote(words.Brief(e.Name)) + ": the lock says nothing about its bytes")
	}
	t.parts = append(t.parts, part)
	return nil
}

// hashed returns the folder of a tree that the hashes of an entry cover. vercel's skills may name a
// skill without its path.
func (t *takeover) hashed(e lockfile.Entry, part author.Part) (string, error) {
	if t.lock.Tool != lockfile.Vercel || len(e.Skills) == 0 && e.Source.Kind != objects.SourceSite {
		return ".", nil
	}
	q := t.q
	q.Skills = part.Skills
	packages, err := author.Bundles(t.Desk, q, part.Tree)
	if err != nil {
		return "", err
	}
	if len(packages) != 1 || packages[0].Origin == nil {
		return "", fault.New(fault.NotFound, "%d skills of this name there, want one", len(packages))
	}
	dir := strings.TrimPrefix(strings.TrimPrefix(packages[0].Origin.Path, part.Tree.Origin.Path), "/")
	return cmp.Or(dir, "."), nil
}

// contentOf returns a folder of a tree as the rules of lock files hash it.
func contentOf(t foreign.Tree, dir string) (f lockfile.Folder, err error) {
	if f.Tree, f.Sum, err = foreign.Hash(t, dir); err != nil {
		return f, err
	}
	below := func(p string) (string, bool) {
		if dir == "." {
			return p, true
		}
		return strings.CutPrefix(p, dir+"/")
	}
	for _, file := range t.Files {
		if p, ok := below(path.Clean(file.Path)); ok {
			f.Files = append(f.Files, lockfile.File{Path: p, Data: file.Data})
		}
	}
	for _, l := range t.Links {
		if p, ok := below(path.Clean(l.Path)); ok && !l.Module {
			f.Links = append(f.Links, lockfile.File{Path: p, Data: []byte(l.Target)})
		}
	}
	return f, nil
}

// facts are the lines of the question.
func (t *takeover) facts() []string {
	lines := []string{"lock     " + t.name + " of " + string(t.lock.Tool) + ", " + words.Plural(t.equal, "hash") + " compared"}
	for i, p := range t.parts {
		if i == 100 {
			lines = append(lines, "… and "+words.Plural(len(t.parts)-i, "more source"))
			break
		}
		lines = append(lines, "source   "+p.from)
	}
	return lines
}
