package custody

import (
	"cmp"
	"context"
	"os/user"
	"strings"

	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// CommitOptions returns the message, signer and author of a commit.
func (ks *Keys) CommitOptions(ctx context.Context, message string) (store.CommitOptions, error) {
	k, err := ks.Signer(ctx)
	if err != nil {
		return store.CommitOptions{}, err
	}
	return store.CommitOptions{Message: message, Signer: trust.CommitSigner(k), Author: Author(k.Public()), When: ks.host.Now()}, nil
}

// Author names the user for git. The address is derived from the key: it identifies the
// signer, and receives no mail.
func Author(pub trust.PublicKey) store.Ident {
	var name string
	if u, err := user.Current(); err == nil {
		name = cmp.Or(u.Name, u.Username)
	}
	return store.Ident{Name: cleanIdent(name), Email: pub.Fingerprint().URL()[:16] + "@rye.invalid"}
}

// cleanIdent removes the characters that git does not allow in a name; "" becomes "rye".
func cleanIdent(s string) string {
	return cmp.Or(strings.TrimSpace(strings.Map(func(c rune) rune {
		if c < ' ' || c == '<' || c == '>' || c == 0x7f {
			return -1
		}
		return c
	}, s)), "rye")
}
