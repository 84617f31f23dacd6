package export

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Tell reports copies for clients that differ from the items. In a directory without copies it
// looks at nothing.
func Tell(ctx context.Context, s *session.Session) {
	l := s.Stack.Project
	if l == nil || l.Store == "" {
		return
	}
	m, err := readMemory(filepath.Dir(l.Store))
	if err == nil && len(m.clients) == 0 {
		return
	}
	var x *exporting
	if err == nil {
		x, err = open(ctx, &custody.Desk{Session: s}, rye.ClientExport{Check: true})
	}
	if err != nil {
		s.Tell("copies for clients: " + err.Error())
		return
	}
	if x.check(ctx) == nil {
		return
	}
	n := 0
	for i := range x.rep.Copies {
		if !x.rep.Copies[i].Fits() {
			n++
		}
	}
	s.Tell(fmt.Sprintf("%d of %s for clients differ from the items; rye export --check", n, copies(len(x.rep.Copies))))
}
