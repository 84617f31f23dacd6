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

func (ks *Keys) Check(ctx context.Context) rye.DoctorCheck {
	c := rye.DoctorCheck{Name: "key"}
	if Held(ks.Name) {
		k, err := ks.Signer(ctx)
		if err != nil {
			c.Text, c.Mend = err.Error(), fault.HintOf(err)
		} else {
			c.OK, c.Text = true, k.Public().String()+" in the "+HeldName(ks.Name)
		}
		return c
	}
	pub, err := trust.ReadPublic(ks.Path(ks.Name))
	switch {
	case fault.Is(err, fault.NotFound):
		c.Text, c.Mend = "no signing key at "+ks.Path(ks.Name), fault.Command("rye key new")
	case err != nil:
		c.Text, c.Mend = err.Error(), fault.HintOf(err)
	default:
		c.OK, c.Text = true, pub.Fingerprint().String()+" at "+ks.Path(ks.Name)
	}
	return c
}

func CheckTrust(h *session.Host) rye.DoctorCheck {
	st, err := trust.LoadStore(h.TrustPath())
	if err != nil {
		return rye.DoctorCheck{Name: "trust", Text: err.Error(), Mend: fault.HintOf(err)}
	}
	return rye.DoctorCheck{Name: "trust", OK: true, Text: fmt.Sprintf("%s: %s", h.TrustPath(), words.Plural(len(Beliefs(st)), "belief"))}
}
