// Package author changes what the spaces hold: it makes, adds, signs, moves and removes
// items and bundles, and records every change.
package author

import (
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Desk is where a person works: what is seen, and the keys at hand.
type Desk struct {
	*session.Session
	Keys *custody.Keys
}
