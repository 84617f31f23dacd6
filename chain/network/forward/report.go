package forward

import (
	"cmp"
	"errors"
	"slices"
	"sync"
)

// Use is the traffic of a run with one host.
type Use struct {
	Host     string
	Port     uint16
	Conns    int
	Sent     int64 // bytes from the program to the host
	Received int64
}

// Miss is a host that a run did not reach.
type Miss struct {
	Host    string
	Port    uint16
	Why     string
	Refused bool // by rye; false is a failure of the network
	Unnamed bool // the needs do not name it
}

// String returns the host with its port, as needs.net writes it.
func (m Miss) String() string { return at(m.Host, m.Port) }

// report gathers the traffic of a run.
type report struct {
	mu     sync.Mutex
	uses   map[string]*Use
	misses []Miss
}

func (r *report) count(t target, sent, received int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	u := r.uses[t.String()]
	if u == nil {
		if len(r.uses) >= maxReport {
			return
		}
		if r.uses == nil {
			r.uses = map[string]*Use{}
		}
		u = &Use{Host: t.host, Port: t.port}
		r.uses[t.String()] = u
	}
	u.Conns++
	u.Sent += sent
	u.Received += received
}

func (r *report) miss(t target, err error) {
	var no refusal
	m := Miss{Host: t.host, Port: t.port, Why: err.Error(), Refused: errors.As(err, &no), Unnamed: no == unnamed}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.misses) < maxReport && !slices.Contains(r.misses, m) {
		r.misses = append(r.misses, m)
	}
}

// Uses lists the hosts that the run reached, sorted. It is complete after Close, for the first 100
// hosts.
func (r *report) Uses() (all []Use) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, u := range r.uses {
		all = append(all, *u)
	}
	slices.SortFunc(all, func(a, b Use) int { return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port)) })
	return all
}

// Misses lists the hosts that the run did not reach, in order, each reason once.
func (r *report) Misses() []Miss {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.misses)
}
