package chain

import (
	"time"

	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/objects"
)

// LimitsOf returns what one run of a plan may use up: of each limit the smallest that an
// item of the chain states.
func LimitsOf(p *Plan) (all objects.Limits) {
	for _, l := range p.Links {
		all = all.And(l.Verified.Item().Meta.Limits)
	}
	return all
}

// timeoutOf is how long a run may take: the smaller of what its configuration and its limits
// say; 0 where neither does.
func (p *Plan) timeoutOf() time.Duration {
	limit := LimitsOf(p).Time
	if limit == 0 || p.config.timeout > 0 && p.config.timeout < limit {
		limit = p.config.timeout
	}
	return limit
}

// limit gives a call what the plan's items state.
func limit(c *primitive.Call, p *Plan) {
	l := LimitsOf(p)
	c.Timeout, c.MaxOutput = p.timeoutOf(), int(l.Output)
	c.Sandbox.Limits = primitive.Limits{
		CPU:    int64((l.CPU + time.Second - 1) / time.Second), // the kernel counts whole seconds
		Memory: l.Memory, File: l.File, Procs: l.Processes, Temp: l.Temp,
	}
}
