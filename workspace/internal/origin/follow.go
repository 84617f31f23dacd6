package origin

import (
	"maps"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace/internal/author"
)

// signedAgain notes the items of a bundle of the user's that an update signed again: the lock follows
// them, as it follows rye sign.
func (u *updating) signedAgain(b bundle, n *next) {
	if !n.sign || !author.Own(u.Desk, b.manifest) {
		return
	}
	if u.rep.Before == nil {
		u.rep.Before = map[objects.Ref]objects.Digest{}
	}
	maps.Copy(u.rep.Before, author.MembersOf(b.dir, b.manifest))
}
