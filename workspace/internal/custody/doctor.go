package custody

import (
	"context"
	"fmt"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Check looks for the signing key, and whether the user trusts it. It asks an agent or a
// service for its key; of a file it reads the public half.
func (ks *Keys) Check(ctx context.Context) rye.DoctorCheck {
	if Held(ks.Key) {
		k, err := ks.Signer(ctx)
		if err == nil {
			err = ks.usable(k.Public())
		}
		if err != nil {
			return session.Checked("key", "", err)
		}
		return session.Checked("key", k.Public().String()+" in the "+HeldName(ks.Key), nil)
	}
	pub, err := trust.ReadPublic(ks.Path(ks.Key))
	if err != nil {
		return session.Checked("key", "", ks.explainMissing(err))
	}
	return session.Checked("key", pub.String()+" at "+ks.Path(ks.Key), ks.usable(pub))
}

// usable explains why signatures by the user's key would not be trusted: it was denied, or the
// trust store does not list it. An unreadable store is reported elsewhere.
func (ks *Keys) usable(pub trust.PublicKey) error {
	st, err := trust.LoadStore(ks.host.TrustPath())
	switch {
	case err != nil:
		return nil
	case isDenied(st, pub):
		return fault.New(fault.Revoked, "your key %s is denied, so its signatures are refused", pub).Mend("rye trust allow %s", pub)
	}
	return known(ks, st, pub)
}

// CheckAccepted reports whether the user accepted the project.
func CheckAccepted(h *session.Host) []rye.DoctorCheck {
	if h.ProjectDir == "" {
		return nil
	}
	s, err := h.OfAnyOwner().OpenProject()
	if err != nil {
		return nil // CheckProject or CheckTrust reports it
	}
	defer s.Close()
	if s.Trust.Accepted(s.Site()) {
		return []rye.DoctorCheck{session.Checked("accepted", "you accepted this project", nil)}
	}
	return []rye.DoctorCheck{{Name: "accepted", Text: "you have not accepted this project, so no key is trusted in it", Mend: fault.Command("rye trust")}}
}

// CheckTrust reads the user's trust store.
func CheckTrust(h *session.Host) rye.DoctorCheck {
	all, err := Beliefs(h)
	return session.Checked("trust", fmt.Sprintf("%s: %s", h.TrustPath(), words.Plural(len(all), "decision")), err)
}
