package records

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
)

const (
	placeFile = "place.yaml"
	maxPlace  = 64 << 10 // bytes; a path has at most 4,096
	today     = 24 * time.Hour
)

// Known is the content of a record's place.yaml.
type Known struct {
	Place
	Stamp
	Made time.Time
	Used time.Time // the day when a command last wrote
}

// onDisk is place.yaml.
type onDisk struct {
	Format  int    `yaml:"format"`
	Path    string `yaml:"path"`
	Project string `yaml:"project,omitempty"`
	Machine string `yaml:"machine,omitempty"`
	UID     string `yaml:"uid,omitempty"`
	Inode   uint64 `yaml:"inode,omitempty"`
	Born    int64  `yaml:"born,omitempty"`
	Made    string `yaml:"made"`
	Used    string `yaml:"used"`
}

// Known reads place.yaml; ok is false if there is none yet.
func (p Place) Known() (k Known, ok bool, err error) {
	if p.Dir == "" {
		return Known{}, false, nil
	}
	return readKnown(p.Dir)
}

func readKnown(dir string) (k Known, ok bool, err error) {
	file := filepath.Join(dir, placeFile)
	raw, err := place.Read(file, maxPlace)
	if errors.Is(err, fs.ErrNotExist) {
		return Known{}, false, nil
	}
	if err != nil {
		return Known{}, false, err
	}
	var y onDisk
	if err := objects.DecodeYAML(raw, maxPlace, &y); err != nil {
		return Known{}, false, fault.Wrap(err, "read %s", file)
	}
	if y.Format != 1 {
		return Known{}, false, fault.New(fault.Malformed, "read %s: format %d, this rye reads 1", file, y.Format).Advise("install a newer rye")
	}
	k = Known{Place: Place{Path: y.Path, Project: y.Project, Machine: y.Machine, UID: y.UID, Dir: dir, Key: filepath.Base(dir)},
		Stamp: Stamp{y.Inode, y.Born}}
	var err1, err2 error
	k.Made, err1 = time.Parse(time.RFC3339, y.Made)
	k.Used, err2 = time.Parse(time.RFC3339, y.Used)
	if err := errors.Join(err1, err2); err != nil {
		return Known{}, false, fault.New(fault.Malformed, "read %s: %w", file, err)
	}
	return k, true, nil
}

// Note creates the record's directory, which only the user can read. It writes place.yaml if
// it is missing, wrong, or from another day. Commands that write call it first.
func (p Place) Note(now time.Time) error {
	s, err := StampOf(p.Path)
	if err != nil {
		return fault.New(fault.Failed, "record the place of %s: %w", p.Path, err)
	}
	was, ok, err := p.Known()
	if err != nil && fault.CodeOf(err) != fault.Malformed {
		return err
	}
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		return fault.New(fault.Failed, "make the record of %s: %w", p.Path, err)
	}
	if err := place.Owned(p.Dir); err != nil { // again: another process may have been faster
		return err
	}
	if err := p.list(); err != nil {
		return fault.New(fault.Failed, "record that %s has this project: %w", p.Path, err)
	}
	now = now.UTC().Truncate(time.Second)
	is := Known{Place: p, Stamp: s, Made: was.Made, Used: now}
	if !ok {
		is.Made = now
	} else if was.Place == p && was.Stamp == s && now.Sub(was.Used).Abs() < today {
		return nil
	}
	text, err := objects.EncodeYAML(onDisk{Format: 1, Path: p.Path, Project: p.Project, Machine: p.Machine, UID: p.UID,
		Inode: s.Inode, Born: s.Born, Made: is.Made.Format(time.RFC3339), Used: is.Used.Format(time.RFC3339)})
	if err != nil {
		return err
	}
	return place.File(filepath.Join(p.Dir, placeFile), text, 0o600)
}

// Replaced reports whether the directory at p is another one than at the last write of the
// record: it was removed and created again, restored, or cloned again. It is true if
// place.yaml cannot be read, and false if there is none. Without birth times it is false,
// because network and shared folders may give a directory a new inode at each start.
func (p Place) Replaced() bool {
	was, ok, err := p.Known()
	if err != nil || !ok {
		return err != nil
	}
	s, err := StampOf(p.Path)
	return err != nil || s != was.Stamp && s.Born != 0 && was.Born != 0
}

// All returns place.yaml of every record, sorted by path. A record without a readable
// place.yaml has only its Dir and Key. Without a usable data directory there are no records.
func (d *Data) All() ([]Known, error) {
	if d.Err() != nil {
		return nil, nil
	}
	dir := filepath.Join(d.dir, "records")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.Failed, "list the records: %w", err)
	}
	var all []Known
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		k, ok, err := readKnown(at)
		if err != nil || !ok {
			k = Known{Place: Place{Key: e.Name(), Dir: at}}
		}
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b Known) int { return strings.Compare(a.Path+"\x00"+a.Key, b.Path+"\x00"+b.Key) })
	return all, nil
}

// Gone reports whether the directory of a record is missing although its parent exists: a
// directory on an unmounted disk is not gone.
func (k Known) Gone() bool {
	if k.Path == "" {
		return false
	}
	up, err := os.Stat(filepath.Dir(k.Path))
	if err != nil || !up.IsDir() {
		return false
	}
	_, err = os.Lstat(k.Path)
	return errors.Is(err, fs.ErrNotExist)
}

// left reports whether no directory can use the record of the old place any more: the
// directory is gone, or it is p itself in another spelling that this system accepts.
func (k Known) left(p Place) bool {
	if k.Gone() {
		return true
	}
	a, err1 := os.Stat(k.Path)
	b, err2 := os.Stat(p.Path)
	return err1 == nil && err2 == nil && os.SameFile(a, b) && strings.EqualFold(k.Path, p.Path)
}

// Moved finds the record that p's directory had under another path: of the same project,
// machine and user, with a path that is gone, and with p's inode and birth time. ok is false
// if p has a record, if birth times are not kept here, or if no record fits.
func (d *Data) Moved(p Place) (old Known, ok bool, err error) {
	if _, err := os.Lstat(p.Dir); p.Dir == "" || err == nil {
		return Known{}, false, nil
	}
	s, err := StampOf(p.Path)
	if err != nil || s.Born == 0 || s.Inode == 0 {
		return Known{}, false, err
	}
	all, err := d.All()
	for _, k := range all {
		if k.Stamp == s && k.Project == p.Project && k.Machine == p.Machine && k.UID == p.UID && k.left(p) {
			return k, true, nil
		}
	}
	return Known{}, false, err
}

// Move turns the record old into the record of p. If p already has one: fault.Conflict.
func (p Place) Move(old Known, now time.Time) error {
	if p.Dir == "" {
		return fault.New(fault.NotFound, "move the record of %s: there is no data directory", old.Path)
	}
	if _, err := os.Lstat(p.Dir); err == nil {
		return fault.New(fault.Conflict, "move the record of %s: %s has a record already", old.Path, p.Path).Advise("rye where --all")
	}
	if !old.left(p) {
		return fault.New(fault.Conflict, "move the record of %s: that directory still exists and uses it", old.Path).Advise("rye where --all")
	}
	if err := place.Replace(old.Dir, p.Dir); err != nil {
		return err
	}
	return p.Note(now)
}
