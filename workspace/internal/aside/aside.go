// Package aside keeps what rye moved out of a project after a run, and the notices about it, until
// a person puts it back or dismisses the notice.
package aside

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/strict"
	"github.com/rye-os/rye/workspace/internal/session"
)

// The directory taken, beside a project's record, has one directory for each run that left
// something: notice.json, and below files what was moved (docs/format/taken.md).
const (
	directory  = "taken"
	noticeName = "notice.json"
	filesName  = "files"
	stamp      = "20060102T150405.000000000Z"
	maxNotice  = 4 << 20 // bytes
	maxNotices = 1000    // that are read
	format     = 1
)

// A Notice is what rye moved away after one run.
type Notice struct {
	dir       string
	Tool      string
	At        time.Time
	Killed    bool // rye was killed during the run, and found this later
	Dismissed bool
	Things    []Thing
}

// A Thing is one path that was moved.
type Thing struct {
	Path string `json:"path"`           // relative to the project, with slashes
	Kind string `json:"kind"`           // the program that runs it
	How  string `json:"how"`            // "new", "moved" or "changed"
	File string `json:"file,omitempty"` // where it is; "" for something empty
	Need string `json:"need,omitempty"`
}

// stored is the content of notice.json.
type stored struct {
	Format    int     `json:"format"`
	Tool      string  `json:"tool"`
	At        string  `json:"at"`
	Killed    bool    `json:"killed,omitempty"`
	Dismissed bool    `json:"dismissed,omitempty"`
	Things    []Thing `json:"things"`
}

// base is the directory of all notices of a project; "" where nothing can be kept.
func base(s *session.Session) string {
	if dir := cmp.Or(s.Place.Dir, s.StateDir); dir != "" {
		return filepath.Join(dir, directory)
	}
	return ""
}

// Room returns a directory for what one run left. It is made when something is moved into it.
func Room(s *session.Session, at time.Time) (dir, files string) {
	in := base(s)
	if in == "" {
		in = filepath.Join(os.TempDir(), "rye-"+directory+"-"+rand.Text()) // where nobody else can wait for it
	}
	dir = filepath.Join(in, at.UTC().Format(stamp))
	for n := 1; ; n++ {
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) || n > maxNotices {
			return dir, filepath.Join(dir, filesName)
		}
		dir = filepath.Join(in, at.UTC().Format(stamp)+"."+strconv.Itoa(n))
	}
}

// Keep writes the notice about what was moved into a directory from Room.
func Keep(s *session.Session, dir string, n *Notice) error {
	if s.Place.Dir != "" {
		if err := s.Place.Note(s.Now()); err != nil {
			return err
		}
	}
	n.dir = dir
	return n.write()
}

func (n *Notice) write() error {
	raw, err := json.MarshalIndent(stored{format, n.Tool, n.At.UTC().Format(time.RFC3339Nano), n.Killed, n.Dismissed, n.Things}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		return err
	}
	return place.File(filepath.Join(n.dir, noticeName), append(raw, '\n'), 0o600)
}

// All returns the notices of a project, oldest first. A notice that cannot be read is an error
// beside the others.
func All(s *session.Session) (all []*Notice, err error) {
	in := base(s)
	if in == "" {
		return nil, nil
	}
	dirs, err := os.ReadDir(in)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var failed []error
	if err != nil {
		failed = append(failed, err)
	}
	for _, d := range dirs[:min(len(dirs), maxNotices)] {
		n, err := read(filepath.Join(in, d.Name()))
		switch {
		case errors.Is(err, fs.ErrNotExist): // of an earlier version, or still being written
		case err != nil:
			failed = append(failed, err)
		default:
			all = append(all, n)
		}
	}
	slices.SortStableFunc(all, func(a, b *Notice) int { return a.At.Compare(b.At) })
	return all, errors.Join(failed...)
}

func read(dir string) (*Notice, error) {
	name := filepath.Join(dir, noticeName)
	raw, err := place.Read(name, maxNotice)
	if err != nil {
		return nil, err
	}
	var st stored
	if err := strict.Decode(raw, maxNotice, &st); err != nil {
		return nil, fault.Wrap(err, "read %s", name).Advise("remove %s, after you looked at what is in it", dir)
	}
	at, err := time.Parse(time.RFC3339Nano, st.At)
	if err != nil || st.Format != format {
		return nil, fault.New(fault.Malformed, "read %s: it is not a notice of format %d", name, format).Advise("remove %s, after you looked at what is in it", dir)
	}
	return &Notice{dir: dir, Tool: st.Tool, At: at, Killed: st.Killed, Dismissed: st.Dismissed, Things: st.Things}, nil
}

// Pending returns the notices that no person has answered.
func Pending(s *session.Session) ([]*Notice, error) {
	all, err := All(s)
	return slices.DeleteFunc(all, func(n *Notice) bool { return n.Dismissed }), err
}

// Info returns the things as a result reports them.
func (n *Notice) Info() (all []rye.TakenInfo) {
	for _, t := range n.Things {
		all = append(all, rye.TakenInfo{Path: t.Path, Kind: t.Kind, How: t.How, Where: t.File, Need: t.Need})
	}
	return all
}

// Dismiss ends a notice. What was moved stays where it is.
func (n *Notice) Dismiss() error {
	n.Dismissed = true
	return n.write()
}
