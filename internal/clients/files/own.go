package files

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye/internal/clients"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
)

// Rye notes each program and each address that it writes into an entry, one a line, the newest
// last. So it knows its own entry after the program has moved, and an address that it wrote from
// one that somebody else did.
const (
	writtenFile = "written"
	maxWritten  = 64 // lines
)

func (h *Host) writtenPath() string { return filepath.Join(h.State, "clients", writtenFile) }

// written returns the noted programs and addresses. Without a readable file there are none.
func (h *Host) written() []string {
	raw, err := place.Read(h.writtenPath(), 1<<20)
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
}

// note notes the program or the address of an entry. The caller holds the lock.
func (h *Host) note(s clients.Server) error {
	one, all := s.Command+s.URL, h.written()
	if strings.Contains(one, "\n") || slices.Contains(all, one) {
		return nil
	}
	all = append(all, one)
	all = all[max(0, len(all)-maxWritten):]
	return place.File(h.writtenPath(), []byte(strings.TrimPrefix(strings.Join(all, "\n")+"\n", "\n")), 0o600)
}

// notOwn returns why an entry is not one that rye wrote and nobody changed; "" if it is. It names
// no address, which may hold a secret.
func (h *Host) notOwn(f file, raw []byte, s clients.Server) (why string, err error) {
	written := h.written()
	switch {
	case s.URL != "" && !slices.Contains(written, s.URL):
		return "it calls an address that rye did not write", nil
	case s.URL != "":
	case !h.starts(f.scope, s.Command, written):
		return "it starts " + words.Quote(s.Command) + ", not this rye", nil
	case !s.Usual(f.scope):
		return "rye did not write its args", nil
	}
	return f.client.Edited(raw)
}

// starts reports whether a program is the one that rye names in a scope: in a project the rye on
// everyone's PATH, and in the user's own file this program, where it is now or was once.
func (h *Host) starts(scope clients.Scope, program string, written []string) bool {
	if scope == clients.Project {
		return program == "rye"
	}
	return filepath.IsAbs(program) && (program == h.Rye || sameFile(program, h.Rye) || slices.Contains(written, program))
}
