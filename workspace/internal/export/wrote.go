package export

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Wrote returns a function that reports whether the bytes of a file, or the target of a link, are
// what an export writes there now: of an item that verifies and is not taken back, for a client
// that a person agreed to. It reads the project at its first call.
func Wrote(s *custody.Desk) func(rel string, link bool, read func() ([]byte, error)) bool {
	planned := sync.OnceValue(func() map[string]*copyOf {
		all := map[string]*copyOf{}
		now, err := s.Host.Open()
		if err != nil {
			return all
		}
		defer now.Close()
		x, err := open(context.Background(), &custody.Desk{Session: now}, rye.ClientExport{Check: true})
		if err != nil || len(x.memory.clients) == 0 {
			return all
		}
		for i := range x.plan.copies {
			all[x.plan.copies[i].path] = &x.plan.copies[i]
		}
		return all
	})
	return func(rel string, link bool, read func() ([]byte, error)) bool {
		c := planned()[rel]
		if c == nil || link != (c.link != "") {
			return false
		}
		is, err := read()
		if link {
			return err == nil && string(is) == c.link
		}
		return err == nil && bytes.Equal(is, c.data)
	}
}

// settled is how long a check waits for an export at work.
const settled = 5 * time.Second

// Settle waits until no export writes here, so that nobody sees half of one. Until release no export
// begins. It gives up after a few seconds.
func Settle(ctx context.Context, s *session.Session) (release func()) {
	l := s.Stack.Project
	if l == nil || l.Store == "" {
		return func() {}
	}
	file := filepath.Join(filepath.Dir(l.Store), memoryName+".held")
	if _, err := os.Lstat(file); err != nil {
		return func() {} // there never was one
	}
	ctx, cancel := context.WithTimeout(ctx, settled)
	defer cancel()
	release, err := place.Lock(ctx, file)
	if err != nil {
		return func() {}
	}
	return release
}
