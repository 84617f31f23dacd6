package gogit

import (
	"bufio"
	"io"
	"sync"

	"github.com/rye-os/rye/store"
)

// PackfileWriter takes in a pack, as git.Repository.Fetch brings one: through the store's
// quarantine, within store.DefaultLimits, so that nothing of a bad one stays. Close says how
// that ended. What came is protected from a concurrent git repack until the next ref is moved.
func (s *Storage) PackfileWriter() (io.WriteCloser, error) {
	from, to := io.Pipe()
	p := &packWriter{to: to, done: make(chan error, 1)}
	go func() {
		err := s.importPack(from)
		from.CloseWithError(err) // a Write that is under way ends, too
		p.done <- err
	}()
	return p, nil
}

func (s *Storage) importPack(from io.Reader) error {
	in := bufio.NewReader(from)
	if _, err := in.Peek(1); err == io.EOF {
		return nil // go-git has an error for it
	}
	q, err := s.repo.Import(s.ctx, in, store.Limits{Object: s.limits.Object})
	if err != nil {
		return err
	}
	if err := q.Accept(s.ctx); err != nil {
		q.Discard()
		return err
	}
	s.held.add(q.Release)
	_, err = io.Copy(io.Discard, in) // what go-git writes behind it
	return err
}

// packWriter hands what go-git writes to an import in another goroutine, which Close ends.
type packWriter struct {
	to   *io.PipeWriter
	done chan error
	once sync.Once
	err  error
}

func (p *packWriter) Write(b []byte) (int, error) { return p.to.Write(b) }

func (p *packWriter) Close() error {
	p.once.Do(func() {
		p.to.Close()
		p.err = <-p.done
	})
	return p.err
}

// held are packs that nothing refers to yet.
type held struct {
	mu   sync.Mutex
	each []func()
}

func (h *held) add(release func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.each = append(h.each, release)
}

func (h *held) release() {
	h.mu.Lock()
	each := h.each
	h.each = nil
	h.mu.Unlock()
	for _, release := range each {
		release()
	}
}
