package transport

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store"
)

// upload0 answers one request of protocol versions 0 and 1: wants, then haves in rounds until
// "done".
func (c *conversation) upload0(ctx context.Context) error {
	n, err := c.in.readNeeds0()
	if err != nil || n == nil {
		return err
	}
	if err := c.known(n.want); err != nil {
		return err
	}
	if n.depth > 0 {
		o := n.reach()
		o.NoBlobs, o.NoTrees = true, true // only the boundary is needed now
		edge, err := c.repo.Reach(ctx, n.want, nil, o)
		if err != nil {
			return err
		}
		c.shallow(edge)
		c.w.flush()
		if err := c.out.Flush(); err != nil {
			return err
		}
	}
	both, done, err := c.negotiate0(ctx, n)
	if err != nil || !done {
		return err
	}
	plan, err := c.plan(ctx, n, both)
	if err != nil {
		return err
	}
	return c.sendPack(ctx, n, both, plan)
}

// readNeeds0 reads the wants of versions 0 and 1, with capabilities after the first, up to the
// flush. It returns nil if the client wants nothing.
func (p *pktReader) readNeeds0() (*needs, error) {
	n, first := &needs{}, true
	malformed := fault.New(fault.Malformed, "request is not a list of lines")
	err := p.list(pktFlush, argMax, malformed, func(line string) error {
		if first {
			line, first = n.caps0(line), false
		}
		if err := n.arg(line); err != nil {
			return err
		}
		if len(n.have) > 0 || n.done {
			return fault.New(fault.Malformed, "have or done among the wants")
		}
		return nil
	})
	if err != nil || first {
		return nil, err
	}
	return n, nil
}

// caps0 stores the capabilities after the first want and returns the want.
func (n *needs) caps0(line string) string {
	fields := strings.Fields(line)
	if len(fields) < 2 {
		return line
	}
	for _, f := range fields[2:] {
		switch f {
		case "multi_ack_detailed":
			n.detailed = true
		case "side-band":
			n.band = max(n.band, 1000)
		case "side-band-64k":
			n.band = pktMax
		}
	}
	return fields[0] + " " + fields[1]
}

// negotiate0 reads haves until the client is done. Over HTTP each round is a separate request
// and ends with its flush; then done is false.
func (c *conversation) negotiate0(ctx context.Context, n *needs) (both []store.OID, done bool, err error) {
	ready := false
	for lines := 0; ; lines++ {
		kind, data, err := c.in.next()
		if err == io.EOF && c.once {
			return nil, false, nil // it only requested the shallow section
		}
		if err != nil || lines > argMax {
			return nil, false, errors.Join(err, fault.New(fault.Malformed, "negotiation is cut short"))
		}
		if kind == pktFlush {
			if n.detailed && !ready && c.enough(ctx, n.want, both) {
				ready = true
				c.w.linef("ACK %s ready", both[len(both)-1])
			}
			if len(both) == 0 || n.detailed {
				c.w.linef("NAK")
			}
			if err := c.out.Flush(); err != nil || c.once {
				return nil, false, err
			}
			continue
		}
		line := strings.TrimSuffix(string(data), "\n")
		if line != "done" && !strings.HasPrefix(line, "have ") {
			return nil, false, fault.New(fault.Malformed, "%q among the haves", cleanText(line))
		}
		if err := n.arg(line); err != nil {
			return nil, false, err
		}
		if n.done {
			return both, true, c.finish0(n, both)
		}
		if id := n.have[len(n.have)-1]; c.repo.Has(id) {
			both = append(both, id)
			if n.detailed {
				c.w.linef("ACK %s common", id)
			} else if len(both) == 1 {
				c.w.linef("ACK %s", id)
			}
		}
	}
}

func (c *conversation) finish0(n *needs, both []store.OID) error {
	switch {
	case len(both) == 0:
		c.w.linef("NAK")
	case n.detailed:
		c.w.linef("ACK %s", both[len(both)-1])
	}
	return c.w.err
}
