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

// MaxSiblings is how many other directories of one project are looked into.
const MaxSiblings = 256

// places is the directory below Shared with a file for each directory of the project.
const places = "places"

// Index is the file in which others may keep what they read of the record at p; "" where
// nothing is kept.
func (p Place) Index() string {
	if p.Shared() == "" {
		return ""
	}
	return filepath.Join(p.Shared(), places, p.Key)
}

// Siblings returns the other directories in which this user has the project of p, as far as
// they have a record: sorted by key. more are those beyond MaxSiblings, which were used
// longest ago.
func (p Place) Siblings() (all []Known, more int, err error) {
	if p.Shared() == "" {
		return nil, 0, nil
	}
	entries, err := os.ReadDir(filepath.Join(p.Shared(), places))
	if errors.Is(err, fs.ErrNotExist) {
		entries, err = os.ReadDir(filepath.Dir(p.Dir)) // no command has written since there is a list
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
			continue // not of this project, or gone
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

// List notes the directories that have this project, where that was not done before: so that
// Siblings does not look at every record. Where nothing was recorded yet it does nothing.
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

// list makes the file of p among those of the project; where there is no list yet, those of
// the others, too.
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

// listAll makes the list of the other directories, whole or not at all.
func (p Place) listAll(dir string) error {
	others, _, err := p.Siblings()
	if err != nil {
		return err
	}
	fresh := dir + ".new" // what a killed process left there is true as well
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
