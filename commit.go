package rye

import (
	"os/user"
	"strings"

	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// commitOptions returns how rye signs and names its commits.
func (r *Rye) commitOptions(message string) (store.CommitOptions, error) {
	k, err := r.signer()
	if err != nil {
		return store.CommitOptions{}, err
	}
	return store.CommitOptions{Message: message, Signer: trust.CommitSigner(k), Author: author(k.Public()), When: r.o.Now()}, nil
}

// author names the person for git. The address is made from the key, so that it
// says who signed and is nobody's mailbox.
func author(pub trust.PublicKey) store.Ident {
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
