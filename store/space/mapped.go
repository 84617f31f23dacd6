package space

import (
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/rye-os/rye/fault"
)

// mappings are the files that a layer has mapped. A mapped file is only ever
// replaced by renaming another over it, and never written or cut short, so what is
// mapped stays what it was, also when the name is gone. Somebody else may cut it
// short all the same, or its disk may fail: reading it then is a fault that ends a
// process which does not Guard against it.
type mappings struct {
	sync.Mutex
	all []mapping
}

type mapping struct {
	raw   []byte
	unmap func() error
}

// take returns the first size bytes of f: mapped until close where that is possible
// and asked for, or else read.
func (m *mappings) take(f *os.File, size int64, mapped bool) ([]byte, error) {
	if mapped {
		if raw, unmap, err := mapFile(f, size); err == nil && unmap != nil {
			m.Lock()
			defer m.Unlock()
			m.all = append(m.all, mapping{raw, unmap})
			return raw, nil
		}
	}
	raw := make([]byte, size)
	_, err := io.ReadFull(f, raw)
	return raw, err
}

// close gives everything back. Nobody may read it afterwards.
func (m *mappings) close() error {
	m.Lock()
	defer m.Unlock()
	var errs []error
	for _, one := range m.all {
		errs = append(errs, one.unmap())
	}
	m.all = nil
	return errors.Join(errs...)
}

// torn reports whether a mapped file is no longer what its sum says.
func (m *mappings) torn() bool {
	m.Lock()
	defer m.Unlock()
	return slices.ContainsFunc(m.all, func(one mapping) (bad bool) {
		defer func() { bad = bad || recover() != nil }()
		return !wholeCatalogue(one.raw)
	})
}

// errCut says that a mapped file is no longer there to be read.
var errCut = fault.New(fault.Failed, "the catalogue in the cache directory was cut short, or its disk failed, while it was read").
	Advise("run the command again")

// Guard is for who reads a Look, of any layer of s: where somebody cuts a catalogue
// short meanwhile, that becomes an error of the calling function instead of the end
// of the process. It holds for the calling goroutine.
//
//	defer s.Guard()(&err)
func (s *Stack) Guard() func(*error) {
	was := debug.SetPanicOnFault(true)
	return func(err *error) {
		defer debug.SetPanicOnFault(was)
		p := recover()
		if p == nil {
			return
		}
		_, ours := p.(runtime.Error) // a fault, or lengths that were checked and are others now
		if !ours || !slices.ContainsFunc(s.Layers(), func(l *Layer) bool { return l.mapped.torn() }) {
			panic(p)
		}
		*err = errCut
	}
}
