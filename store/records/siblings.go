package records

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
)

// MaxSiblings is the largest number of other directories of one project that are read.
const MaxSiblings = 256

// places is the directory below Shared with one file for each directory of the project.
const places = "places"

// Index returns the file in which other directories may keep names from the record at p; "" if
// there is no shared directory.
func (p Place) Index() string {
	if p.Shared() == "" {
		return ""
	}
	return filepath.Join(p.Shared(), places, p.Key)
}

// Siblings returns this user's other directories of the project of p that have a record,
// sorted by key. more is the number of directories beyond MaxSiblings; it omits the least
// recently used.
func (p Place) Siblings() (all []Known, more int, err error) {
	if p.Shared() == "" {
		return nil, 0, nil
	}
	entries, err := os.ReadDir(filepath.Join(p.Shared(), places))
	if errors.Is(err, fs.ErrNotExist) {
		entries, err = os.ReadDir(filepath.Dir(p.Dir)) // no command has written a list yet
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fault.New(fault.Failed, "list the directories of this project: %w", err)
	}
	for _, e := range entries {
		if e.Name() == p.Key || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		k, ok, err := readKnown(filepath.Join(filepath.Dir(p.Dir), e.Name()))
		if err != nil || !ok || k.Project != p.Project || k.Machine != p.Machine || k.UID != p.UID {
			continue // another project, or gone
		}
		all = append(all, k)
	}
	if more = max(0, len(all)-MaxSiblings); more > 0 {
		slices.SortStableFunc(all, func(a, b Known) int { return b.Used.Compare(a.Used) })
		all = all[:MaxSiblings]
		slices.SortFunc(all, func(a, b Known) int { return strings.Compare(a.Key, b.Key) })
	}
	return all, more, nil
}

// List creates the list of the directories of this project if it is missing, so that Siblings
// need not read every record. If nothing was recorded yet it does nothing.
func (p Place) List() error {
	if p.Shared() == "" {
		return nil
	}
	dir := filepath.Dir(p.Index())
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := os.Lstat(filepath.Dir(p.Dir)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return p.listAll(dir)
}

// list adds the file of p to the list of the project. If there is no list yet, it adds the
// other directories too.
func (p Place) list() error {
	file := p.Index()
	if file == "" {
		return nil
	}
	if _, err := os.Lstat(file); err == nil {
		return nil
	}
	if err := p.List(); err != nil {
		return err
	}
	return touch(file)
}

// listAll creates the list of the other directories, completely or not at all.
func (p Place) listAll(dir string) error {
	others, _, err := p.Siblings()
	if err != nil {
		return err
	}
	fresh := dir + ".new" // files from a killed process in it are true as well
	if err := os.MkdirAll(fresh, 0o700); err != nil {
		return err
	}
	for _, k := range others {
		if err := touch(filepath.Join(fresh, k.Key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.Rename(fresh, dir); err != nil {
		if _, there := os.Lstat(dir); there != nil {
			return err
		}
	}
	return nil
}

func touch(file string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}
