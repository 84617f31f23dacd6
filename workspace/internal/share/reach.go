// Package share exchanges items with registries: ordinary git repositories in which every
// namespace is a signed log. It also shows what they offer: whole catalogues, fetched,
// verified and searched.
package share

import (
	"fmt"

	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/store/transport"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// TransportOf returns this user's options for access to other machines.
func TransportOf(s *custody.Desk) transport.Options {
	o := transport.Options{Token: s.Token, Netrc: s.Netrc, Env: s.Env, Proxy: s.Proxy, Progress: s.Progress, Importer: s.Helper,
		Plain: settingsOf(s).plain()}
	if s.Git != nil {
		o.Git = s.Git()
	}
	return o
}

// By names the signer of an operation for git, by the user's choice of name.
func By(s *custody.Desk, key trust.Signer) registry.By {
	return registry.By{Signer: key, Who: settingsOf(s).who()}
}

// Texts converts each element of a list to text.
func Texts[T fmt.Stringer](list []T) []string {
	var all []string
	for _, x := range list {
		all = append(all, x.String())
	}
	return all
}
