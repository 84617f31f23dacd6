package gogit

import (
	"bufio"
	"io"
	"sync"

	"github.com/rye-os/rye/store"
)

// PackfileWriter receives a pack, as from git.Repository.Fetch. The pack passes the store's
// quarantine, within store.DefaultLimits, so nothing of a bad pack stays. Close returns the
// result. The new pack is protected from a concurrent git repack until the next move of a ref.
func (s *Storage) PackfileWriter() (io.WriteCloser, error) {
	from, to := io.Pipe()
	p := &packWriter{to: to, done: make(chan error, 1)}
	go func() {
		err := s.importPack(from)
		from.CloseWithError(err) // also ends a waiting Write
		p.done <- err
	}()
	return p, nil
}

func (s *Storage) importPack(from io.Reader) error {
	in := bufio.NewReader(from)
	if _, err := in.Peek(1); err == io.EOF {
		return nil // go-git has its own error for this
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
	_, err = io.Copy(io.Discard, in) // the bytes that go-git writes after the pack
	return err
}

// packWriter passes go-git's writes to an import in another goroutine. Close ends it.
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

// held holds the release functions of packs that no ref needs yet.
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
