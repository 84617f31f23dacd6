package custody

import (
	"context"
	"os/user"
	"strings"

	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// CommitOptions returns how rye signs and names its commits.
func (ks *Keys) CommitOptions(ctx context.Context, message string) (store.CommitOptions, error) {
	k, err := ks.Signer(ctx)
	if err != nil {
		return store.CommitOptions{}, err
	}
	return store.CommitOptions{Message: message, Signer: trust.CommitSigner(k), Author: Author(k.Public()), When: ks.host.Now()}, nil
}

// Author names the person for git. The address is made from the key, so that it
// says who signed and is nobody's mailbox.
func Author(pub trust.PublicKey) store.Ident {
	name := "rye"
	if u, err := user.Current(); err == nil {
		name = u.Username
		if u.Name != "" {
			name = u.Name
		}
	}
	return store.Ident{Name: cleanIdent(name), Email: pub.Fingerprint().URL()[:16] + "@rye.invalid"}
}

func cleanIdent(s string) string {
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c == '<' || c == '>' || c == 0x7f {
			return -1
		}
		return c
	}, s)
	if s = strings.TrimSpace(s); s == "" {
		return "rye"
	}
	return s
}
