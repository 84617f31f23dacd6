package chain

import "github.com/rye-os/rye/objects"

// LimitsOf returns what one run of a plan may use up: of each limit the smallest that an
// item of the chain states.
func LimitsOf(p *Plan) (all objects.Limits) {
	for _, l := range p.Links {
		all = all.And(l.Verified.Item().Meta.Limits)
	}
	return all
}
