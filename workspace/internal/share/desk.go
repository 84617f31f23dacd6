// Package share exchanges items with registries: ordinary git repositories in which every
// namespace is a signed log.
package share

import (
	"net/http"
	"net/url"

	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Options say how other machines are reached; see store/transport.
type Options struct {
	Token  func(host string) string
	Netrc  string        // the user's netrc file; "" for none
	Git    func() string // finds git, for its credential helpers; nil, or "" for none
	Env    []string      // for ssh and git, cleaned before use
	Proxy  func(*http.Request) (*url.URL, error)
	Helper []string // a program that reads what outsiders send; nil reads it here
}

// Desk is a session that can reach other machines, and the keys at hand.
type Desk struct {
	*session.Session
	Keys *custody.Keys
	Options
}
