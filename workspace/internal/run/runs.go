package run

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/chain/primitive/ward"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/workspace/internal/aside"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// Each run that may write in a project has a note, in a file that is locked as long as the run
// lives. By the notes a run knows the runs of the same time, and a later command finds a run that
// was killed. The note of a run that has ended stays as long as a run lives that began before.

// A note is what others must know of a run.
type note struct {
	Tool   string    `json:"tool"`
	Began  time.Time `json:"began"`
	Ended  time.Time `json:"ended,omitzero"`
	Within []string  `json:"within,omitempty"` // the runs whose tools called for it
	Write  []string  `json:"write,omitempty"`  // as ward.Options.Write
	Git    bool      `json:"git,omitempty"`    // it may write in a git directory
	Dirs   []string  `json:"dirs,omitempty"`   // outside of the project, that it may write
	Before []string  `json:"before"`           // protected paths before the run

	file string
}

// Bounds of the notes of one project.
const (
	maxNote  = 1 << 20 // bytes
	maxNotes = 1000
)

// newID returns an id for a run.
func newID() string {
	var random [8]byte
	rand.Read(random[:])
	return hex.EncodeToString(random[:])
}

// id names a run among those of its project.
func (n *note) id() string { return n.file[strings.LastIndexByte(n.file, '-')+1:] }

// A running is the note of this run.
type running struct {
	note
	base   string
	unlock func()
}

// enroll writes the note of a run; nil if it cannot be written. Then a killed run goes unnoticed,
// and runs of the same time do not know of each other.
func enroll(base, id string, n note) *running {
	if base == "" || os.MkdirAll(filepath.Dir(base), 0o700) != nil {
		return nil
	}
	r := &running{note: n, base: base}
	r.file = base + ".run-" + id
	unlock, err := place.Lock(context.Background(), r.file+".lock")
	if err != nil {
		return nil
	}
	r.unlock = unlock
	if !r.write() {
		r.remove()
		return nil
	}
	return r
}

func (n *note) write() bool {
	raw, err := json.Marshal(n)
	return err == nil && len(raw) <= maxNote && place.Cache(n.file, raw, 0o600) == nil
}

func (r *running) remove() {
	os.Remove(r.file)
	os.Remove(r.file + ".lock")
	r.unlock()
}

// end removes the note, or leaves it for the runs that live.
func (r *running) end(now time.Time) {
	if r == nil {
		return
	}
	others := notes(r.base, r.file)
	if slices.ContainsFunc(others, (*note).live) {
		if r.Ended = now; r.write() {
			os.Remove(r.file + ".lock")
			r.unlock()
			return
		}
	}
	for _, o := range others {
		if !o.Ended.IsZero() && !slices.ContainsFunc(others, (*note).live) {
			os.Remove(o.file)
		}
	}
	r.remove()
}

// others returns the runs of the same time. apart are those that this run did not cause.
func (r *running) others() (all, apart []*note) {
	if r == nil {
		return nil, nil
	}
	for _, n := range notes(r.base, r.file) {
		if !n.live() && n.Ended.Before(r.Began) {
			continue
		}
		all = append(all, n)
		if !slices.Contains(n.Within, r.id()) {
			apart = append(apart, n)
		}
	}
	return all, apart
}

// live reports whether a run holds its note.
func (n *note) live() bool { return n.Ended.IsZero() && place.Held(n.file+".lock") }

// notes reads the notes of a project, except one.
func notes(base, except string) (all []*note) {
	files, _ := filepath.Glob(glob(base) + ".run-*")
	for _, file := range files[:min(len(files), maxNotes)] {
		if strings.HasSuffix(file, ".lock") || file == except {
			continue
		}
		n := &note{file: file}
		if raw, err := place.Read(file, maxNote); err == nil && json.Unmarshal(raw, n) == nil {
			all = append(all, n)
		}
	}
	return all
}

// Recover looks in the project of a session for what killed runs left, moves it away and keeps a notice.
// It reports whether there was a killed run. Every command does so.
func Recover(ctx context.Context, s *custody.Desk) (found bool) {
	if s.ProjectDir == "" || s.CacheDir == "" || s.Place.Key == "" {
		return false
	}
	base := noteBase(s)
	if files, _ := filepath.Glob(glob(base) + ".run-*"); len(files) == 0 {
		return false
	}
	project, err := filepath.EvalSymlinks(s.ProjectDir)
	if err != nil {
		return false
	}
	if found = slices.ContainsFunc(notes(base, ""), func(n *note) bool { return n.Ended.IsZero() && !n.live() }); found {
		_, _ = primitive.Sweep(s.RunsDir()) // the processes of such runs, before a look at their files
	}
	recovered(ctx, s, base, project)
	return found
}

// noteBase is the beginning of the paths of a project's notes.
func noteBase(s *custody.Desk) string { return filepath.Join(s.CacheDir, "ward", s.Place.Key) }

// recovered looks for what killed runs left. Its notes tell what was there before. What is new
// since, and by itself runs, is moved away as at the end of a run: nobody has seen it.
func recovered(ctx context.Context, s *custody.Desk, base, project string) {
	if base == "" {
		return
	}
	for _, n := range notes(base, "") {
		if !n.Ended.IsZero() {
			continue
		}
		unlock, ok := grab(n.file)
		if !ok {
			continue // the run is alive
		}
		if _, err := os.Lstat(n.file); err == nil { // nobody else was faster
			recoverOne(ctx, s, base, project, n)
			os.Remove(n.file)
		}
		os.Remove(n.file + ".lock")
		unlock()
	}
	locks, _ := filepath.Glob(glob(base) + ".run-*.lock")
	for _, lock := range locks {
		st, err := os.Lstat(lock)
		if err != nil || time.Since(st.ModTime()) < time.Minute {
			continue // a run may be about to take it
		}
		if _, err := os.Lstat(strings.TrimSuffix(lock, ".lock")); err != nil && !place.Held(lock) {
			os.Remove(lock) // of a run that was killed before it had a note
		}
	}
}

func recoverOne(ctx context.Context, s *custody.Desk, base, project string, n *note) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	at := s.Now()
	dir, files := aside.Room(s.Session, at)
	all := notes(base, n.file)
	x := excusesOf(s, n, all, all)
	found, err := ward.Recover(ctx, ward.Options{Project: project, Write: n.Write}, ward.Earlier{Began: n.Began, Paths: n.Before}, x, files)
	more, gerr := recoverGit(ctx, project, n, filepath.Join(files, ".git"))
	found, err = append(found, more...), errors.Join(err, gerr)
	if len(found) > 0 {
		notice := aside.Notice{Tool: n.Tool, At: at, Killed: true, Things: thingsOf(found)}
		if kerr := aside.Keep(s.Session, dir, &notice); kerr != nil {
			s.Tell("files that rye moved away: " + kerr.Error())
		}
	}
	if err != nil {
		s.Tell("after a killed run: " + err.Error())
	}
}

// grab takes the lock of a note whose run has ended.
func grab(file string) (unlock func(), ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	unlock, err := place.Lock(ctx, file+".lock")
	return unlock, err == nil
}

// glob escapes a path for filepath.Glob.
func glob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
