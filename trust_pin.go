package rye

import (
	"cmp"
	"context"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
)

// TrustPin believes somebody else's key for namespaces: in the user space and,
// when there is one here, in this project, beside what it counted for before. The
// fingerprint is shown and agreed to first. A flag may stand for that agreement
// only when the fingerprint was given, too: then a person compared it before.
func (r *Rye) TrustPin(ctx context.Context, q TrustPinRequest) (*TrustChange, error) {
	st, err := trust.LoadStore(r.trustPath())
	if err != nil {
		return nil, err
	}
	pub, err := r.publicKey(st, q.Key)
	if err != nil {
		return nil, err
	}
	if err := checkPinNamespaces(pub, q.Namespaces); err != nil {
		return nil, err
	}
	told := q.Fingerprint != "" || strings.HasPrefix(q.Key, "SHA256:")
	if q.Fingerprint != "" && q.Fingerprint != pub.String() {
		return nil, fault.New(fault.Untrusted, "pin %s: you gave the fingerprint %q, and the key has another", pub, clipText(q.Fingerprint)).
			Advise("ask the owner again; do not pin it unless both agree")
	}
	user, project, _, err := r.pinScope(q.Space)
	if err != nil {
		return nil, err
	}
	c := &TrustChange{Status: "pinned", Subject: pub.String(), DryRun: q.DryRun}
	add := func(st *trust.Store) error { return addPin(st, pub, q.Name, q.Namespaces, user, project) }
	if err := add(st); err != nil { // st is a copy in memory: what would be refused is not asked about
		return nil, err
	}
	if c.asPinned(st, pub); q.DryRun {
		return c, nil
	}
	if err := r.ask(ctx, pinKeyQuestion(c, !told)); err != nil {
		return nil, err
	}
	return c, trust.Update(r.trustPath(), add)
}

// publicKey reads a key that is spelled out, or looks up a fingerprint among the
// keys that are known here and those that the project lists.
func (r *Rye) publicKey(st *trust.Store, text string) (trust.PublicKey, error) {
	if !strings.HasPrefix(text, "SHA256:") {
		return trust.ParsePublicKey(text)
	}
	fp, err := objects.ParseFingerprint(text)
	if err != nil {
		return trust.PublicKey{}, err
	}
	if k, ok := st.Key(fp); ok {
		return k, nil
	}
	if r.o.Project != "" {
		listed, err := r.signers()
		if err != nil {
			return trust.PublicKey{}, err
		}
		if k, ok := listed[fp]; ok {
			return k, nil
		}
	}
	return trust.PublicKey{}, fault.New(fault.NotFound, "pin %s: only its fingerprint is known here, not the key", fp).
		Advise("rye trust pin 'ssh-ed25519 AAAA...' --fingerprint %s", fp)
}

func checkPinNamespaces(pub trust.PublicKey, namespaces []string) error {
	if len(namespaces) == 0 {
		return fault.New(fault.Usage, "trust %s: for which namespace?", pub).Advise("rye trust pin --namespace acme '<key>'")
	}
	for _, ns := range namespaces {
		if err := checkNamespace(ns); err != nil {
			return err
		}
	}
	return nil
}

// pinScope says where a pin is to count: in the user space, in this project, or both.
func (r *Rye) pinScope(space string) (user bool, project string, where []string, err error) {
	if space != "" && space != "user" && space != "project" {
		return false, "", nil, fault.New(fault.Usage, "space %q: want user or project", clipText(space))
	}
	if space != "project" {
		user, where = true, []string{"user space"}
	}
	if space == "user" || space == "" && r.o.Project == "" {
		return user, "", where, nil
	}
	if r.o.Project == "" {
		return false, "", nil, fault.New(fault.NotFound, "no project here: no .ai/%s in this directory or above", ProjectFile).Mend("rye init")
	}
	c, err := readProject(r.o.Project)
	if err != nil {
		return false, "", nil, err
	}
	return user, c.Project, append(where, "project "+c.Project), nil
}

// addPin adds to what a key counts for.
func addPin(st *trust.Store, pub trust.PublicKey, name string, namespaces []string, user bool, project string) error {
	p := trust.Pin{Key: pub, Name: name, User: user, Namespaces: namespaces}
	if project != "" {
		p.Projects = []string{project}
	}
	return st.PinMore(p)
}

// asPinned describes the whole pin as it would be: namespaces and places multiply,
// so what a key counted for before may count in more places now.
func (c *TrustChange) asPinned(st *trust.Store, pub trust.PublicKey) {
	for _, p := range st.Pins() {
		if p.Key != pub {
			continue
		}
		c.Name, c.Namespaces, c.Where = p.Name, p.Namespaces, nil
		if p.User {
			c.Where = append(c.Where, "user space")
		}
		for _, g := range p.Projects {
			c.Where = append(c.Where, "project "+g)
		}
	}
}

func pinKeyQuestion(c *TrustChange, person bool) Question {
	q := Question{Topic: "pin key", Text: "Believe this key? Compare the fingerprint with what its owner tells you.", Person: person,
		Lines: []string{c.Subject}, Mend: fault.Advice("rye trust pin <key> --namespace <name> --fingerprint <SHA256:...> --yes, with what the owner told you")}
	for _, ns := range c.Namespaces {
		q.Lines = append(q.Lines, "for "+ns+"/ in the "+strings.Join(c.Where, " and "))
	}
	return q
}

// TrustUnpin takes a pin back, or some of its namespaces. subject is the key's
// fingerprint, the key itself, or the name that it was pinned under.
func (r *Rye) TrustUnpin(ctx context.Context, subject string, namespaces []string, dryRun bool) (*TrustChange, error) {
	c := &TrustChange{Status: "unpinned", Namespaces: namespaces, DryRun: dryRun}
	return c, r.changeTrust(dryRun, func(st *trust.Store) error {
		fp, err := pinned(st, subject)
		if err != nil {
			return err
		}
		c.Subject = fp.String()
		name, had := holderOf(st, fp)
		if c.Name = name; len(namespaces) == 0 {
			c.Namespaces = had
		}
		return st.Unpin(fp, namespaces...)
	})
}

// pinned finds the one pinned key that a person means.
func pinned(st *trust.Store, subject string) (objects.Fingerprint, error) {
	if fp, err := objects.ParseFingerprint(subject); err == nil {
		return fp, nil
	}
	if pub, err := trust.ParsePublicKey(subject); err == nil {
		return pub.Fingerprint(), nil
	}
	var found []objects.Fingerprint
	for _, p := range st.Pins() {
		if p.Name == subject {
			found = append(found, p.Key.Fingerprint())
		}
	}
	switch len(found) {
	case 0:
		return objects.Fingerprint{}, fault.New(fault.NotFound, "unpin %q: no key is pinned under that name", clipText(subject)).Mend("rye trust list")
	case 1:
		return found[0], nil
	}
	return objects.Fingerprint{}, fault.New(fault.Usage, "unpin %q: %d keys are pinned under that name", clipText(subject), len(found)).Mend("rye trust unpin %s", found[0])
}

// holderOf returns the name of a key's entry and what it counts for.
func holderOf(st *trust.Store, fp objects.Fingerprint) (name string, namespaces []string) {
	for _, o := range st.Own() {
		if o.Key.Fingerprint() == fp {
			return cmp.Or(o.Name, "your own key"), o.Namespaces
		}
	}
	for _, p := range st.Pins() {
		if p.Key.Fingerprint() == fp {
			return p.Name, p.Namespaces
		}
	}
	for _, b := range st.Bindings() {
		for _, k := range b.Keys {
			if k.Key.Fingerprint() == fp {
				namespaces = append(namespaces, b.Namespace)
			}
		}
	}
	return "", namespaces
}
