package store

import (
	"errors"

	"github.com/rye-os/rye/fault"
)

// Objects reads objects from objects directories that rye does not manage: the ones in the
// user's own repositories. It writes nothing and takes no lock. Their contents may be made to
// harm the reader, so it refuses an object whose deltas make more than mostWork bytes. It is
// safe for concurrent use.
type Objects struct {
	Reader
	disks []*diskObjects
}

// mostWork is the number of bytes that the deltas of one object may make: fifty, the depth of
// git's packs, of the widest folder that people have.
const mostWork = 256 << 20

// OpenObjects opens dirs, each an objects directory. Objects are looked up in this order.
func OpenObjects(f Format, dirs ...string) (*Objects, error) {
	o := &Objects{}
	var all []source
	for _, dir := range dirs {
		in, err := openFiles(dir)
		if err != nil {
			o.Close()
			return nil, err
		}
		d := &diskObjects{files: in, at: ".", format: f, most: mostWork}
		o.disks, all = append(o.disks, d), append(all, d)
	}
	o.init(f, all...)
	return o, nil
}

// Close closes the directories and the opened packs.
func (o *Objects) Close() error {
	var errs []error
	for _, d := range o.disks {
		errs = append(errs, d.close(), d.files.close())
	}
	return errors.Join(errs...)
}

// RepoConfig is the part of a repository's config that a reader needs.
type RepoConfig struct {
	Format   Format
	Worktree string // core.worktree; "" if not set
	FileMode bool   // core.fileMode: the working tree keeps modes; true if not set

	MergeDriver string // merge.rye.driver
}

// ParseRepoConfig reads the text of a repository's config. It refuses formats that this
// package cannot read (fault.Malformed), as git demands of every reader.
func ParseRepoConfig(text string) (RepoConfig, error) {
	if len(text) > maxConfig {
		return RepoConfig{}, fault.New(fault.Limit, "config: more than %d bytes", maxConfig)
	}
	c, err := parseConfig(text)
	r := RepoConfig{Format: c.format, FileMode: true}
	if err == nil {
		err = eachSetting(text, func(key, value string) {
			switch key {
			case "merge.rye.driver":
				r.MergeDriver = value
			case "core.worktree":
				r.Worktree = value
			case "core.filemode":
				r.FileMode = isTrue(value)
			}
		})
	}
	return r, err
}
