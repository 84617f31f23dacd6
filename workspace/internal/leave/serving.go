package leave

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/workspace/internal/session"
	"github.com/rye-os/rye/workspace/internal/threads"
)

// A server notes that it runs in a file of the cache, which it locks until it ends in any way. The
// name begins with its process id, and the text is its command.

// Serving notes that this process serves until end is called. A note that cannot be written is
// left out, because a server needs none.
func Serving(h *session.Host, command string) (end func()) {
	dir := h.ServingDir()
	if dir == "" || os.MkdirAll(dir, 0o700) != nil {
		return func() {}
	}
	_, _ = SweepServing(h, rye.GCRequest{})
	f, err := os.CreateTemp(dir, fmt.Sprintf("%d-*", os.Getpid()))
	if err != nil {
		return func() {}
	}
	_, err = f.WriteString(command + "\n")
	f.Close()
	unlock := func() {}
	if err == nil {
		unlock, err = place.Lock(context.Background(), f.Name())
	}
	if err != nil {
		os.Remove(f.Name())
		return func() {}
	}
	return func() {
		os.Remove(f.Name())
		unlock()
	}
}

// young is the age below which a note may be one that its server has not locked yet.
const young = time.Minute

// SweepServing removes the notes of servers that were killed.
func SweepServing(h *session.Host, q rye.GCRequest) (*rye.GCReport, error) {
	g := &rye.GCReport{Place: "notes of servers", Dir: h.ServingDir()}
	for _, e := range notes(h) {
		path := filepath.Join(g.Dir, e.Name())
		if st, err := e.Info(); err != nil || time.Since(st.ModTime()) < young || place.Held(path) {
			continue
		}
		if q.DryRun || os.Remove(path) == nil {
			g.Removed++
		}
	}
	if g.Removed == 0 {
		return nil, nil
	}
	return g, nil
}

func notes(h *session.Host) []fs.DirEntry {
	if h.ServingDir() == "" {
		return nil
	}
	entries, _ := os.ReadDir(h.ServingDir()) // a missing directory holds none
	return entries
}

// inUse refuses a removal while a process of rye works: fault.Conflict, with the command that stops
// it.
func inUse(h *session.Host) error {
	const what = "self uninstall: "
	all, err := h.Records.All()
	if err != nil {
		return err
	}
	for _, k := range all {
		if ids := threads.Running(k.Dir); len(ids) > 0 {
			return fault.New(fault.Conflict, what+"%s of %s at work: %s", words.Plural(len(ids), "thread"), k.Path, strings.Join(ids, ", ")).
				Mend("rye -C %s thread cancel %s", k.Path, ids[0])
		}
	}
	for _, e := range notes(h) {
		path := filepath.Join(h.ServingDir(), e.Name())
		if !place.Held(path) {
			continue
		}
		raw, _ := place.Read(path, 4<<10) // on Windows nobody can read it now
		pid, _, _ := strings.Cut(e.Name(), "-")
		err := fault.New(fault.Conflict, what+"a server is at work: process %s, %s", pid, words.Brief(strings.TrimSpace(string(raw))))
		if os.PathSeparator == '\\' {
			return err.Advise("quit the client that started it, or stop it: taskkill /PID %s", pid)
		}
		return err.Advise("quit the client that started it, or stop it: kill %s", pid)
	}
	if n := primitive.InProgress(h.RunsDir()); n > 0 {
		return fault.New(fault.Conflict, what+"%s in progress", words.Plural(n, "run")).Advise("wait for its end, or stop it with Ctrl-C")
	}
	return nil
}
