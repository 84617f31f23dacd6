package custody

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Pin trusts another person's key for namespaces, in addition to its present ones: in the user
// space and, when there is one, in this project. The fingerprint is shown and agreed to first.
// A flag may replace that consent only when the fingerprint was given, too: then a person
// compared it before.
func Pin(ctx context.Context, s *session.Session, q rye.TrustPinRequest) (*rye.TrustChange, error) {
	st, err := trust.LoadStore(s.TrustPath())
	if err != nil {
		return nil, err
	}
	pub, err := PublicKey(s.Host, st, q.Key)
	if err != nil {
		return nil, err
	}
	if err := checkPinNamespaces(pub, q.Namespaces); err != nil {
		return nil, err
	}
	told := q.Fingerprint != "" || strings.HasPrefix(q.Key, "SHA256:")
	if q.Fingerprint != "" && q.Fingerprint != pub.String() {
		return nil, fault.New(fault.Untrusted, "pin %s: the key has another fingerprint than %q, which you gave", pub, words.Brief(q.Fingerprint)).
			Advise("ask the owner again; do not pin it unless both agree")
	}
	in, err := whereIn(s, q.Space)
	if err != nil {
		return nil, err
	}
	pin := trust.Pin{Key: pub, Name: q.Name, Namespaces: q.Namespaces}
	if err := in.pin(s, st, pin); err != nil { // in memory only: no question about a pin that would be refused
		return nil, err
	}
	c := &rye.TrustChange{Status: "pinned", Subject: pub.String(), Where: in.places(), DryRun: q.DryRun}
	c.Name, c.Namespaces = holderOf(st, pub.Fingerprint())
	if q.DryRun {
		return c, nil
	}
	if err := s.Ask(ctx, pinQuestion(c, !told)); err != nil {
		return nil, err
	}
	if err := in.declare(s, pin); err != nil {
		return nil, err
	}
	return c, trust.Update(s.TrustPath(), func(st *trust.Store) error { return in.pin(s, st, pin) })
}

// PublicKey parses a whole key, or looks up a fingerprint among the known keys and the
// project's declared signers.
func PublicKey(h *session.Host, st *trust.Store, text string) (trust.PublicKey, error) {
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
	if k, ok, err := listedKey(h, fp); ok || err != nil {
		return k, err
	}
	return trust.PublicKey{}, fault.New(fault.NotFound, "pin %s: rye knows only its fingerprint, not the key", fp).
		Advise("rye trust pin 'ssh-ed25519 AAAA...' --fingerprint %s", fp)
}

func checkPinNamespaces(pub trust.PublicKey, namespaces []string) error {
	if len(namespaces) == 0 {
		return fault.New(fault.Usage, "trust %s: no namespace named", pub).Advise("rye trust pin --namespace acme '<key>'")
	}
	for _, ns := range namespaces {
		if err := session.CheckNamespace(ns); err != nil {
			return err
		}
	}
	return nil
}

func pinQuestion(c *rye.TrustChange, person bool) rye.Question {
	q := rye.Question{Topic: "pin key", Lines: []string{c.Subject},
		Text: "Trust this key? Compare the fingerprint with the one from its owner.",
		Mend: fault.Advice("rye trust pin <key> --namespace <name> --fingerprint <SHA256:...> --yes, with the fingerprint from its owner")}
	if person {
		q.Flags = []string{"--fingerprint"}
	}
	for _, ns := range c.Namespaces {
		q.Lines = append(q.Lines, "for "+ns+"/ in the "+strings.Join(c.Where, " and "))
	}
	return q
}

// Unpin takes back a key's pins in the user space and its grants in this project, for all or
// some namespaces. It returns the fingerprint if it found the key, also beside fault.NotFound
// when there was nothing to take back.
func Unpin(ctx context.Context, s *session.Session, q rye.TrustUnpinRequest) (c *rye.TrustChange, fp objects.Fingerprint, err error) {
	c = &rye.TrustChange{Status: "unpinned", Namespaces: q.Namespaces, DryRun: q.DryRun}
	err = update(s.Host, q.DryRun, func(st *trust.Store) error {
		if fp, err = pinned(st, q.Subject); err != nil {
			return err
		}
		c.Subject = fp.String()
		name, had := holderOf(st, fp)
		if c.Name = name; len(q.Namespaces) == 0 {
			c.Namespaces = had
		}
		granted := unpin(st, s.Site(), fp, q.Namespaces)
		err = st.Unpin(fp, q.Namespaces...)
		if fault.Is(err, fault.NotFound) && len(granted) > 0 {
			err = nil // it was granted only here
		}
		if len(q.Namespaces) == 0 {
			c.Namespaces = slices.Compact(slices.Sorted(slices.Values(slices.Concat(c.Namespaces, granted))))
		}
		return err
	})
	return c, fp, err
}

// pinned finds the one pinned key with a person's name for it, or its fingerprint or text.
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
		return objects.Fingerprint{}, fault.New(fault.NotFound, "unpin %q: no trusted key has that name", words.Brief(subject)).Advise("rye trust list")
	case 1:
		return found[0], nil
	}
	return objects.Fingerprint{}, fault.New(fault.Usage, "unpin %q: %d trusted keys have that name", words.Brief(subject), len(found)).
		Mend("rye trust unpin %s", found[0])
}

// holderOf returns the name of a key's entry and the key's namespaces.
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
	for _, g := range st.Grants() {
		ns, text := g.Cut()
		if k, err := trust.ParsePublicKey(text); g.Kind == trust.GrantSigner && err == nil && k.Fingerprint() == fp && !slices.Contains(namespaces, ns) {
			namespaces = append(namespaces, ns)
		}
	}
	return "", namespaces
}
