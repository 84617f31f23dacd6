package store

import (
	"errors"

	"github.com/rye-os/rye/fault"
)

// Objects reads objects out of directories of objects that rye does not keep: those of the
// user's own repositories. It writes nothing and takes no lock. What lies there may be
// made to harm its reader, so an object is refused whose deltas take more than mostWork. It is safe for concurrent use.
type Objects struct {
	Reader
	disks []*diskObjects
}

// mostWork is how many bytes the deltas of one object may make on the way to it: fifty,
// as deep as git packs, of the widest folder that anybody has.
const mostWork = 256 << 20

// OpenObjects reads the objects in dirs, each an objects directory, looked at in order.
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

// Close closes the directories, and the packs that reading opened.
func (o *Objects) Close() error {
	var errs []error
	for _, d := range o.disks {
		errs = append(errs, d.close(), d.files.close())
	}
	return errors.Join(errs...)
}

// RepoConfig is what a reader has to know of a repository's config.
type RepoConfig struct {
	Format   Format
	Worktree string // core.worktree; "" where it does not say
	FileMode bool   // core.fileMode: the working tree keeps modes; true where it does not say
}

// ParseRepoConfig reads the text of a repository's config, and refuses, as git demands of
// every reader, formats that this package does not read: fault.Malformed.
func ParseRepoConfig(text string) (RepoConfig, error) {
	if len(text) > maxConfig {
		return RepoConfig{}, fault.New(fault.Limit, "config: more than %d bytes", maxConfig)
	}
	c, err := parseConfig(text)
	r := RepoConfig{Format: c.format, FileMode: true}
	if err == nil {
		err = eachSetting(text, func(key, value string) {
			switch key {
			case "core.worktree":
				r.Worktree = value
			case "core.filemode":
				r.FileMode = isTrue(value)
			}
		})
	}
	return r, err
}
