// Package share exchanges items with registries: ordinary git repositories in which every
// namespace is a signed log. It also shows what they offer: whole catalogues, brought and
// verified, searched, and looked at.
package share

import (
	"fmt"

	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/store/transport"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// transportOf returns how this user reaches other machines.
func transportOf(s *custody.Desk) transport.Options {
	o := transport.Options{Token: s.Token, Netrc: s.Netrc, Env: s.Env, Proxy: s.Proxy, Progress: s.Progress, Importer: s.Helper,
		Plain: settingsOf(s).plain()}
	if s.Git != nil {
		o.Git = s.Git()
	}
	return o
}

// By names the signer of an operation for git, as the user chose to be named.
func By(s *custody.Desk, key trust.Signer) registry.By {
	return registry.By{Signer: key, Who: settingsOf(s).who()}
}

// Texts spells each of a list.
func Texts[T fmt.Stringer](list []T) []string {
	var all []string
	for _, x := range list {
		all = append(all, x.String())
	}
	return all
}
