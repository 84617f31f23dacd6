package store

import (
	"errors"
	"os"

	"github.com/rye-os/rye/fault"
)

// Objects reads objects out of directories of objects that rye does not keep: those of the
// user's own repositories. It writes nothing and takes no lock. What lies there may be
// made to harm its reader, so more is refused than in a Repo: what is no regular file, and
// an object whose deltas take more than mostWork. It is safe for concurrent use.
type Objects struct {
	Reader
	disks []*diskObjects
}

// mostWork is how many bytes the deltas of one object may make on the way to it: fifty,
// as deep as git packs, of the widest folder that anybody has.
const mostWork = 256 << 20

// OpenObjects reads the objects in dirs, each an objects directory, looked at in order.
// Nothing is opened before something is asked for.
func OpenObjects(f Format, dirs ...string) *Objects {
	o := &Objects{}
	var all []source
	for _, dir := range dirs {
		d := &diskObjects{dir: dir, format: f, most: mostWork}
		o.disks, all = append(o.disks, d), append(all, regularOnly{d})
	}
	o.init(f, all...)
	return o
}

// Close closes the packs that reading opened.
func (o *Objects) Close() error {
	var errs []error
	for _, d := range o.disks {
		errs = append(errs, d.close())
	}
	return errors.Join(errs...)
}

// regularOnly is a source that opens no loose object that is anything but a file: opening
// a pipe may take for ever.
type regularOnly struct{ *diskObjects }

func (r regularOnly) load(id OID, limit int64) (Type, []byte, error) {
	if err := r.check(id); err != nil {
		return 0, nil, err
	}
	return r.diskObjects.load(id, limit)
}

func (r regularOnly) stat(id OID) (Type, int64, error) {
	if err := r.check(id); err != nil {
		return 0, 0, err
	}
	return r.diskObjects.stat(id)
}

func (r regularOnly) check(id OID) error {
	if fi, err := os.Lstat(loosePath(r.dir, id)); err == nil && !fi.Mode().IsRegular() {
		return fault.New(fault.Malformed, "object %s: not a regular file", id)
	}
	return nil
}

// RepoConfig is what a reader has to know of a repository's config.
type RepoConfig struct {
	Format   Format
	Worktree string // core.worktree; "" where it does not say
}

// ParseRepoConfig reads the text of a repository's config, and refuses, as git demands of
// every reader, formats that this package does not read: fault.Malformed.
func ParseRepoConfig(text string) (RepoConfig, error) {
	if len(text) > maxConfig {
		return RepoConfig{}, fault.New(fault.Limit, "config: more than %d bytes", maxConfig)
	}
	c, err := parseConfig(text)
	r := RepoConfig{Format: c.format}
	if err == nil {
		err = eachSetting(text, func(key, value string) {
			if key == "core.worktree" {
				r.Worktree = value
			}
		})
	}
	return r, err
}
