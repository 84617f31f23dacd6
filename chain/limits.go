package chain

import (
	"time"

	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/objects"
)

// LimitsOf returns the limits of one run of a plan: for each, the smallest that an item of the
// chain states.
func LimitsOf(p *Plan) (all objects.Limits) {
	for _, l := range p.Links {
		all = all.And(l.Verified.Item().Meta.Limits)
	}
	return all
}

// timeoutOf returns the longest duration of a run: the smaller of the timeouts in its
// configuration and its limits, or 0 when neither is set.
func (p *Plan) timeoutOf() time.Duration {
	limit := LimitsOf(p).Time
	if limit == 0 || p.config.timeout > 0 && p.config.timeout < limit {
		limit = p.config.timeout
	}
	return limit
}

// limit copies the limits of the plan's items into a call.
func limit(c *primitive.Call, p *Plan) {
	l := LimitsOf(p)
	c.Timeout, c.MaxOutput = p.timeoutOf(), int(l.Output)
	c.Sandbox.Limits = primitive.Limits{
		CPU:    int64((l.CPU + time.Second - 1) / time.Second), // the kernel limits whole seconds
		Memory: l.Memory, File: l.File, Procs: l.Processes, Temp: l.Temp,
	}
}
