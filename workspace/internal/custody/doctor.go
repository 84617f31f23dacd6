package custody

import (
	"context"
	"fmt"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Check looks for the signing key. One that an agent or a service holds is asked for; of a
// file the public half is read.
func (ks *Keys) Check(ctx context.Context) rye.DoctorCheck {
	if Held(ks.Name) {
		k, err := ks.Signer(ctx)
		if err != nil {
			return session.Checked("key", "", err)
		}
		return session.Checked("key", k.Public().String()+" in the "+HeldName(ks.Name), nil)
	}
	pub, err := trust.ReadPublic(ks.Path(ks.Name))
	if err != nil {
		return session.Checked("key", "", ks.explainMissing(err))
	}
	return session.Checked("key", pub.String()+" at "+ks.Path(ks.Name), nil)
}

// CheckTrust reads the user's trust store.
func CheckTrust(h *session.Host) rye.DoctorCheck {
	all, err := Beliefs(h)
	return session.Checked("trust", fmt.Sprintf("%s: %s", h.TrustPath(), words.Plural(len(all), "belief")), err)
}
