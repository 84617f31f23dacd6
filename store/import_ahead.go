package store

import (
	"runtime"

	"github.com/rye-os/rye/fault"
)

// Inflating a pack must go from its beginning to its end, because only inflating shows where
// an entry stops. Hashing and parsing need not: small objects are gathered and checked on
// other processors while the next ones are read. The results are taken in pack order. So
// errors, links and repeated objects come out the same as with one processor.

const (
	aheadObject = 64 << 10 // largest object in bytes that is gathered; larger blobs only pass through the hash
	aheadCount  = 256      // most objects in a bundle that is checked at once
	aheadBytes  = 1 << 20  // most bytes in a bundle
)

// checking is a bundle of objects that are being hashed and parsed.
type checking struct {
	first   int // index of the first entry; the others follow it
	objects []checked
	bytes   int
	done    chan struct{} // closed when all objects are checked
}

// checked is one object and the result of its check. A delta or a large blob has no data.
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

// take waits for the oldest bundle and takes its results.
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

// end takes the results of all bundles.
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

// wait waits for all running checks, so that none outlives the import.
func (a *aheadOf) wait() {
	for _, c := range a.running {
		<-c.done
	}
	a.running = nil
}

// check computes the id of an object and checks its form. links are the ids that it names.
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
