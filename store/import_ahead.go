package store

import (
	"runtime"

	"github.com/rye-os/rye/fault"
)

// Inflating a pack has to go from its beginning to its end, for only inflating tells
// where an entry stops. Naming and parsing what was inflated has not: small objects are
// gathered and checked on another processor while the next are read. What the checks
// find is taken over in the order of the pack, so errors, links and repeated objects
// are found as if there were one processor.

const (
	aheadObject = 64 << 10 // bytes of an object that is gathered; blobs above go through the hash alone
	aheadCount  = 256      // objects of a bundle that is checked at once, ...
	aheadBytes  = 1 << 20  // ... and their bytes
)

// checking is a bundle of objects that are being named and parsed.
type checking struct {
	first   int // of the entries, which follow one another
	objects []checked
	bytes   int
	done    chan struct{} // closed when all of it is checked
}

// checked is one object, and what its check found. An entry that is none, a delta or a
// large blob, has no data.
type checked struct {
	t     Type
	data  []byte
	id    OID
	links []OID
	err   error
}

// aheadOf gathers objects for the importer.
type aheadOf struct {
	im      *importer
	now     *checking
	running []*checking
}

// add gathers the newest entry.
func (a *aheadOf) add(c checked) error {
	if a.now == nil {
		a.now = &checking{first: len(a.im.entries) - 1, done: make(chan struct{})}
	}
	a.now.objects = append(a.now.objects, c)
	a.now.bytes += len(c.data)
	if len(a.now.objects) < aheadCount && a.now.bytes < aheadBytes {
		return nil
	}
	a.start()
	if len(a.running) <= runtime.GOMAXPROCS(0) {
		return nil
	}
	return a.take()
}

func (a *aheadOf) start() {
	c := a.now
	a.now = nil
	a.running = append(a.running, c)
	f := a.im.r.format
	go func() {
		defer close(c.done)
		n := newNamer(f)
		for i := range c.objects {
			if o := &c.objects[i]; o.data != nil {
				o.id, o.links, o.err = n.check(o.t, o.data)
				o.data = nil
			}
		}
	}()
}

// take waits for the oldest bundle and takes over what was found.
func (a *aheadOf) take() error {
	c := a.running[0]
	a.running = a.running[1:]
	<-c.done
	for i, o := range c.objects {
		e := &a.im.entries[c.first+i]
		if o.t == 0 {
			continue
		}
		e.id = o.id
		err := o.err
		if err == nil {
			a.im.links.add(a.im.ids, o.links)
			err = a.im.once(o.id)
		}
		if err != nil {
			return fault.Wrap(err, "entry at %d", e.off)
		}
	}
	return nil
}

// end takes everything that was gathered.
func (a *aheadOf) end() error {
	if a.now != nil {
		a.start()
	}
	for len(a.running) > 0 {
		if err := a.take(); err != nil {
			a.wait()
			return err
		}
	}
	return nil
}

// wait lets nothing run on when the import is over.
func (a *aheadOf) wait() {
	for _, c := range a.running {
		<-c.done
	}
	a.running = nil
}

// check names an object and checks its own form. links are the ids that it names.
func (n *namer) check(t Type, data []byte) (id OID, links []OID, err error) {
	n.begin(t, int64(len(data)))
	n.Write(data)
	if id, err = n.name(); err != nil {
		return id, nil, err
	}
	if most := mostOf(t); int64(len(data)) > most {
		return id, nil, fault.New(fault.Limit, "%s %s: %d bytes, at most %d are accepted", t, id, len(data), most)
	}
	if links, err = linksOf(n.format, t, data); err != nil {
		err = fault.Wrap(err, "object %s", id)
	}
	return id, links, err
}
