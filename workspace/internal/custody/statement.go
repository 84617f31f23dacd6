package custody

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/workspace/internal/session"
)

// somePaths is the number of named items for one signer in one namespace. Only their count is
// complete: the consent is for the namespace, not for the items.
const somePaths = 3

// Trust shows everything for which the project's directory asks trust, and grants it: after
// one question, or exactly the parts in q.Accept. It does not ask again about earlier grants.
// Where something remains ungranted, the report is returned with the error (fault.Untrusted).
func Trust(ctx context.Context, s *session.Session, q rye.TrustRequest, files []session.SignedFile) (*rye.TrustStatement, error) {
	a, err := readAsking(s, files)
	if err == nil {
		err = a.findContests(ctx)
	}
	if err != nil {
		return nil, err
	}
	a.rep.DryRun = q.DryRun
	if !q.DryRun {
		s.KeepSigners(ctx)
	}
	a.note(a.parts, a.store, nil)
	if q.DryRun {
		return a.rep, nil
	}
	chosen, owners, err := a.choose(ctx, q)
	if err == nil {
		err = a.grant(chosen, owners)
	}
	if err != nil {
		return a.rep, err
	}
	return a.rep, a.remaining(q)
}

// asking is one statement, and its parts that the user granted before.
type asking struct {
	s         *session.Session
	store     *trust.Store
	statement *trust.Statement
	parts     []trust.Part
	missing   []trust.Part
	owners    []trust.Grant // other users to whom the directory belongs
	over      []trust.Grant // grants in the main working tree, which this linked one takes over
	contested []contest
	files     []session.SignedFile
	rep       *rye.TrustStatement
}

func readAsking(s *session.Session, files []session.SignedFile) (*asking, error) {
	signers, err := s.Stack.Declared.Signers()
	if err != nil {
		return nil, err
	}
	overrides, err := s.Project.StatedOverrides()
	if err != nil {
		return nil, err
	}
	registries, without := s.Project.StatedRegistries()
	st, err := trust.NewStatement(s.Project.Project, signers, registries, overrides)
	if err != nil {
		return nil, fault.Wrap(err, "read the trust statement of %s", s.ProjectDir)
	}
	a := &asking{s: s, store: s.Trust, statement: st, parts: st.Parts(), missing: st.Missing(s.Trust, s.Site(), s.Stack.Declared), files: files,
		rep: &rye.TrustStatement{Dir: s.ProjectDir, Project: st.Project, Digest: st.Digest().String()}}
	if a.owners, err = session.ForeignOwners(s); err != nil {
		return nil, err
	}
	main := a.takeOver()
	a.rep.First = a.first(without)
	for _, g := range a.over {
		a.rep.First = append(a.rep.First, fmt.Sprintf("a yes also grants here, in a linked worktree, what you granted in %s: %s", words.Quote(main), strings.TrimSpace(string(g.Kind)+" "+g.Value)))
	}
	a.rep.Ignored = s.AgainstNotes()
	a.rep.Undeclared = a.undeclared()
	return a, nil
}

// takeOver finds the grants in the main working tree that are missing here, and returns that
// tree's path. It leaves out grants that a removal ended there.
func (a *asking) takeOver() (main string) {
	at, ok := session.MainTree(a.s)
	if !ok {
		return ""
	}
	tree := trust.Site{Place: at.Key, Project: a.statement.Project}
	declared := a.s.Stack.Declared.At(tree)
	for _, g := range tree.Among(a.store.Grants()) {
		if _, removed := declared.Removal(a.store, g); removed {
			continue
		}
		g.Site, g.At = a.s.Site(), time.Time{} // a yes has its own time
		if !a.store.Granted(g) {
			a.over = append(a.over, g)
		}
	}
	return at.Path
}

// first lists the warnings to read before everything else.
func (a *asking) first(without []string) (all []string) {
	for _, g := range a.owners {
		all = append(all, "this directory belongs to user "+g.Value+" of this machine, not to you; a yes lets rye use it")
	}
	for _, id := range a.formerly() {
		all = append(all, "this directory was project "+id+" before; the grants of that project do not apply to this one")
	}
	for _, name := range without {
		all = append(all, fmt.Sprintf("registry %q is named without root keys, so you cannot accept it here: rye registry add %s", name, a.s.Project.Registries[name].URL))
	}
	return all
}

// contest is a namespace that has one owner in another directory of the project, and for
// which this one asks for another.
type contest struct {
	part      trust.Part
	namespace string
	there     session.Owner
	here      objects.Fingerprint
}

func (c contest) String() string {
	return fmt.Sprintf("%s/ belongs to %s in %s, another directory of the same project; here %s asks for it", c.namespace, c.there.Key, words.Quote(c.there.Path), c.here)
}

// findContests notes them. A directory that also asks for one of the other directory's owners
// is a clone of it, whatever other signers it has.
func (a *asking) findContests(ctx context.Context) error {
	asked := map[string]map[objects.Fingerprint]bool{} // signers here, granted or not, by namespace
	for _, p := range a.parts {
		if p.Kind == trust.GrantSigner {
			ns := p.Signer.Namespaces[0]
			if asked[ns] == nil {
				asked[ns] = map[objects.Fingerprint]bool{}
			}
			asked[ns][p.Signer.Key.Fingerprint()] = true
		}
	}
	for _, p := range a.missing {
		if p.Kind != trust.GrantSigner || a.store.IsOwn(p.Signer.Key) {
			continue
		}
		ns := p.Signer.Namespaces[0]
		owners, err := a.s.OwnersElsewhere(ctx, ns)
		if err != nil {
			return err
		}
		if len(owners) > 0 && !slices.ContainsFunc(owners, func(o session.Owner) bool { return asked[ns][o.Key] }) {
			c := contest{p, ns, owners[0], p.Signer.Key.Fingerprint()}
			a.contested, a.rep.First = append(a.contested, c), append(a.rep.First, c.String())
		}
	}
	return nil
}

// conflict refuses parts that need the consent of a person who saw both owners.
func (a *asking) conflict(parts []trust.Part) error {
	for _, c := range a.contested {
		if slices.ContainsFunc(parts, func(p trust.Part) bool { return p.Digest() == c.part.Digest() }) {
			return fault.New(fault.Untrusted, "trust %s: %s", a.s.ProjectDir, c).Mend("rye trust pin %s --namespace %s --space project", c.here, c.namespace)
		}
	}
	return nil
}

// formerly returns the ids of earlier projects at this path, as far as they have a grant or a
// record.
func (a *asking) formerly() []string {
	var ids []string
	for _, g := range a.store.Grants() {
		if g.Project == "" || g.Project == a.statement.Project || slices.Contains(ids, g.Project) {
			continue
		}
		if p, err := a.s.Records.At(nil, a.s.ProjectDir, g.Project); err == nil && p.Key == g.Place {
			ids = append(ids, g.Project)
		}
	}
	known, _ := a.s.Records.All() // without a list, only grants are known
	for _, k := range known {
		if k.Path == a.s.Place.Path && k.Project != "" && k.Project != a.statement.Project && !slices.Contains(ids, k.Project) {
			ids = append(ids, k.Project)
		}
	}
	slices.Sort(ids)
	return ids
}

// undeclared lists items whose signers are not declared for them, so that no grant can cover
// them.
func (a *asking) undeclared() []rye.UntrustedItems {
	found := map[[2]string]*rye.UntrustedItems{}
	for _, f := range a.files {
		ns := f.Ref.ID.Namespace()
		if f.Counts || a.declares(f) {
			continue
		}
		at := [2]string{f.Signer.String(), ns}
		if found[at] == nil {
			found[at] = &rye.UntrustedItems{Signer: at[0], Namespace: ns}
		}
		u := found[at]
		if u.Items++; len(u.Paths) < somePaths {
			u.Paths = append(u.Paths, ".ai/"+f.Path)
		}
	}
	all := make([]rye.UntrustedItems, 0, len(found))
	for _, u := range found {
		all = append(all, *u)
	}
	slices.SortFunc(all, func(x, y rye.UntrustedItems) int {
		return cmp.Or(strings.Compare(x.Signer, y.Signer), strings.Compare(x.Namespace, y.Namespace))
	})
	return all
}

// declares reports whether the statement declares the signer of a file.
func (a *asking) declares(f session.SignedFile) bool {
	for _, s := range a.statement.Signers {
		if s.Key.Fingerprint() == f.Signer && slices.Contains(s.Namespaces, f.Ref.ID.Namespace()) {
			return true
		}
	}
	own, _ := a.store.Key(f.Signer)
	return slices.Contains(a.statement.Overrides, trust.StatedOverride{Ref: f.Ref, Signer: f.Signer}) ||
		a.store.IsOwn(own) && !trust.Reserved(f.Ref.ID.Namespace())
}

// note writes the parts into the report, with their states in a trust store. The user's own
// keys are granted as soon as they are trusted here.
func (a *asking) note(parts []trust.Part, now *trust.Store, accepted []trust.Part) {
	missing := a.statement.Missing(now, a.s.Site(), a.s.Stack.Declared)
	isIn := func(list []trust.Part, p trust.Part) bool {
		return slices.ContainsFunc(list, func(x trust.Part) bool { return x.Digest() == p.Digest() })
	}
	a.rep.Parts, a.rep.Missing = nil, len(missing)
	for _, p := range parts {
		d := a.describe(p)
		d.Removed = a.removed(p, now)
		switch {
		case isIn(missing, p), d.You && p.Kind == trust.GrantSigner && !now.Accepted(a.s.Site()):
			d.Status = "asked"
		case isIn(accepted, p):
			d.Status = "accepted"
		default:
			d.Status = "granted"
		}
		a.rep.Parts = append(a.rep.Parts, d)
	}
}

// removed returns the removal of a signer to whom the user has not agreed since, with its date
// and key; "" for none.
func (a *asking) removed(p trust.Part, now *trust.Store) string {
	for _, g := range p.Grants(a.s.Site()) {
		if r, ok := a.s.Stack.Declared.Claimed(now, g); ok {
			return r.String()
		}
	}
	return ""
}

// describe describes a part for people.
func (a *asking) describe(p trust.Part) rye.TrustPart {
	d := rye.TrustPart{Digest: p.Digest().String(), Kind: string(p.Kind)}
	name := func(fp objects.Fingerprint) {
		d.Signer = fp.String()
		if k, ok := a.store.Key(fp); ok {
			d.You = a.store.IsOwn(k)
			d.Name, _ = holderOf(a.store, fp)
		}
	}
	switch p.Kind {
	case trust.GrantSigner:
		name(p.Signer.Key.Fingerprint())
		d.Namespace = p.Signer.Namespaces[0]
		a.countItems(&d, func(f session.SignedFile) bool {
			return f.Ref.ID.Namespace() == d.Namespace && f.Signer.String() == d.Signer
		})
	case trust.GrantRegistry:
		r := p.Registry
		d.Registry, d.Addresses, d.Scopes = r.ID, r.Addresses, r.Scopes
		for _, fp := range r.Roots {
			d.RootKeys = append(d.RootKeys, fp.String())
		}
	case trust.GrantOverride:
		name(p.Override.Signer)
		d.Ref = p.Override.Ref.String()
		a.countItems(&d, func(f session.SignedFile) bool { return f.Ref == p.Override.Ref && f.Signer == p.Override.Signer })
	}
	return d
}

func (a *asking) countItems(d *rye.TrustPart, mine func(session.SignedFile) bool) {
	for _, f := range a.files {
		if !mine(f) {
			continue
		}
		if d.Items++; len(d.Paths) < somePaths {
			d.Paths = append(d.Paths, ".ai/"+f.Path)
		}
	}
}

// choose returns the parts to grant: those with the given digests, or everything after a yes.
func (a *asking) choose(ctx context.Context, q rye.TrustRequest) (parts []trust.Part, owners []trust.Grant, err error) {
	if len(q.Accept) > 0 {
		parts, err = a.named(q.Accept)
		if len(parts) > 0 && q.Here {
			owners = a.owners
		}
		return parts, owners, cmp.Or(err, a.conflict(parts))
	}
	if len(a.missing)+len(a.owners)+len(a.over) == 0 {
		return nil, nil, nil
	}
	ask := a.question()
	ask.Person = len(a.contested) > 0
	if yes, err := session.Put(ctx, a.s.Host, ask); err != nil {
		return nil, nil, cmp.Or(a.conflict(a.missing), err)
	} else if !yes {
		return nil, nil, session.NotAgreed(ask)
	}
	return a.missing, slices.Concat(a.owners, a.over), nil
}

// named returns the parts with these digests; the whole statement's digest stands for all.
func (a *asking) named(digests []string) (parts []trust.Part, err error) {
	for _, text := range digests {
		d, err := objects.ParseDigest(text)
		if err != nil {
			return nil, fault.New(fault.Usage, "accept %q: want sha256: and 64 hexadecimal digits", words.Brief(text)).Advise("rye trust --dry-run shows the digests here")
		}
		before := len(parts)
		for _, p := range a.parts {
			if d == a.statement.Digest() || d == p.Digest() {
				parts = append(parts, p)
			}
		}
		if len(parts) == before {
			a.rep.Unknown = append(a.rep.Unknown, text)
		}
	}
	return parts, nil
}

// grant records the user's consent, in one change of the trust store.
func (a *asking) grant(parts []trust.Part, owners []trust.Grant) error {
	var after *trust.Store
	err := trust.Update(a.s.TrustPath(), func(st *trust.Store) error {
		for _, p := range parts {
			if p.Kind == trust.GrantSigner && st.IsOwn(p.Signer.Key) {
				continue
			}
			if p.Kind == trust.GrantRegistry {
				if err := meet(st, p.Registry); err != nil {
					return err
				}
			}
			if err := st.GrantAgain(a.s.Now(), a.s.Stack.Declared, p.Grants(a.s.Site())...); err != nil {
				return err
			}
		}
		after = st
		return st.Grant(a.s.Now(), owners...)
	})
	if err != nil {
		return err
	}
	var now []trust.Part
	for _, p := range a.missing {
		if slices.ContainsFunc(parts, func(x trust.Part) bool { return x.Digest() == p.Digest() }) {
			now = append(now, p)
		}
	}
	a.rep.Granted = len(now) + len(owners)
	a.note(a.parts, after, now)
	a.owners = slices.DeleteFunc(a.owners, after.Granted)
	return nil
}

// meet pins a registry that is new to the user. The root keys of a known registry come from
// its own log, and not from a project.
func meet(st *trust.Store, r *trust.StatedRegistry) error {
	if _, ok := st.Registry(r.ID); ok {
		return nil
	}
	return st.PinRegistry(trust.Registry{ID: r.ID, URL: r.Addresses[0], Roots: r.Roots})
}

// remaining returns nil when every requested part is granted.
func (a *asking) remaining(q rye.TrustRequest) error {
	switch {
	case len(a.owners) > 0 && !q.Here:
		return fault.New(fault.Denied, "%s belongs to another user, and is above the current directory", a.s.ProjectDir).
			Mend("rye -C %s trust", a.s.ProjectDir)
	case a.rep.Missing+len(a.owners) == 0:
		return nil
	}
	return fault.New(fault.Untrusted, "%s not yet granted in %s; the whole statement is %s", words.Plural(a.rep.Missing, "part"), a.s.ProjectDir, a.rep.Digest).
		Advise("compare this with the digest that its owner gave you, because a digest from the directory itself proves nothing; rye trust --dry-run shows every part")
}

// question asks about everything without a grant. Without a person, --yes agrees to the user's
// own keys; other people's keys need the digest of the statement.
func (a *asking) question() rye.Question {
	q := rye.Question{Topic: "trust", Text: "Trust everything that this directory asks for?", Lines: StatementLines(a.rep, true),
		Mend: fault.Advice("rye trust --accept sha256:…, with the digest that you got from outside this directory; rye trust --dry-run shows the digests of the whole and of the parts")}
	if slices.ContainsFunc(a.missing, a.ofOthers) {
		q.Flags = []string{"--accept " + a.rep.Digest}
	}
	return q
}

// ofOthers reports whether a part lets keys other than the user's own sign something here, or
// own a namespace. It leaves out grants in the main working tree: the user agreed to them.
func (a *asking) ofOthers(p trust.Part) bool {
	if !slices.ContainsFunc(p.Grants(a.s.Site()), func(g trust.Grant) bool { return !slices.Contains(a.over, g) }) {
		return false
	}
	others := func(fp objects.Fingerprint) bool {
		k, known := a.store.Key(fp)
		return !known || !a.store.IsOwn(k)
	}
	switch p.Kind {
	case trust.GrantSigner:
		return others(p.Signer.Key.Fingerprint())
	case trust.GrantOverride:
		return others(p.Override.Signer)
	case trust.GrantRegistry:
		return slices.ContainsFunc(p.Registry.Roots, others)
	}
	return false // the user's own keys
}

// StatementLines describes a directory's statement for people: every namespace of every
// signer, each registry and each override, never abbreviated. With asked it leaves out earlier
// grants.
func StatementLines(rep *rye.TrustStatement, asked bool) []string {
	lines := []string{"directory  " + rep.Dir, "project    " + rep.Project, "statement  " + rep.Digest}
	for i, text := range rep.First {
		lines = slices.Insert(lines, i, "FIRST      "+text)
	}
	signer := ""
	for _, p := range rep.Parts {
		if asked && p.Status != "asked" {
			continue
		}
		if p.Kind == string(trust.GrantSigner) && p.Signer != signer {
			signer = p.Signer
			lines = append(lines, "signer     "+signerName(p))
		}
		lines = append(lines, partLines(p)...)
	}
	for _, u := range rep.Undeclared {
		lines = append(lines, fmt.Sprintf("NOT ASKED  %s signed %s in %s/, but is not declared for it: untrusted (%s)",
			u.Signer, words.Plural(u.Items, "item"), u.Namespace, strings.Join(u.Paths, ", ")))
	}
	for _, text := range rep.Ignored {
		lines = append(lines, "IGNORED    "+text)
	}
	return lines
}

func partLines(p rye.TrustPart) []string {
	items := words.Plural(p.Items, "item")
	if len(p.Paths) > 0 {
		items += ": " + strings.Join(p.Paths, ", ")
	}
	if p.Items > len(p.Paths) {
		items += ", …"
	}
	if p.Removed != "" {
		items += "; REMOVED on " + p.Removed
	}
	switch trust.GrantKind(p.Kind) {
	case trust.GrantProject:
		return []string{"you        your own keys are trusted here"}
	case trust.GrantSigner:
		return []string{"           for everything in " + p.Namespace + "/ (" + items + ")"}
	case trust.GrantRegistry:
		lines := []string{"registry   " + p.Registry}
		for _, at := range p.Addresses {
			lines = append(lines, "           at "+at)
		}
		for _, k := range p.RootKeys {
			lines = append(lines, "           root key "+k)
		}
		for _, scope := range p.Scopes {
			lines = append(lines, "           decides who owns "+scopeName(scope))
		}
		return lines
	case trust.GrantOverride:
		return []string{"override   " + p.Ref + " by " + signerName(p) + " (" + items + ")"}
	}
	return nil
}

func scopeName(scope string) string {
	if scope == "*" {
		return "all other namespaces"
	}
	return scope + "/"
}

func signerName(p rye.TrustPart) string {
	switch {
	case p.You:
		return p.Signer + " (you)"
	case p.Name != "":
		return p.Signer + " (" + p.Name + ")"
	}
	return p.Signer
}
