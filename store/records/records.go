// Package records finds the record of a directory. The record lies with the user, outside
// of the directory, so that nothing in a clone, a branch or an archive can be one.
//
// A record is a directory <data>/records/<key>. The key is a digest of the directory's
// canonical path, the project's id, the machine and the user: a locator, never an
// authority. It holds
//
//	store.git     the history of the space, a bare git repository
//	place.yaml    what the key was made of, and the directory's inode and birth time
//	project.lock  held by the one process that changes the project
//	questions/    what a person was asked, until it is answered
//
// docs/format/record.md is normative. Reading writes nothing: place.yaml is written by
// commands that write the record.
//
// # Reasons
//
// It lay in .ai/.rye once, as git keeps .git. But git never checks out .git, and it does
// check out .ai/.rye: links there made rye overwrite files elsewhere, and a branch could
// replace history.
//
// The key holds the path, because a pointer in the project would be a claim. It holds the
// project's id, so that another project at the same path has another record. Machine and
// user keep records of a shared home apart.
//
// A copy, a second clone and a worktree have records of their own. With one record each
// tree would look rolled back to the others. They share signed files, by git, and
// restrictions.
//
// Birth times show that a directory was replaced, since inodes are reused at once and
// network folders change them at each start. Where there are no birth times nothing lapses
// and no move is offered: a wrong guess costs more than a command typed once.
//
// Home is never a project, and a configuration directory inside a project is refused.
// Programs often set HOME to the working directory, and then a clone's .config/rye would
// decide about trust.
package records

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
)

// Data is the user's data directory. It is safe for concurrent use.
type Data struct {
	dir  string
	once sync.Once
	why  error
}

// Open returns the data directory at dir; "" is none. dir need not exist. The first use checks
// it.
func Open(dir string) *Data { return &Data{dir: dir} }

// Err is nil if records can be stored here. A directory that is not absolute, that other users
// could change, or that is in a project is not used.
func (d *Data) Err() error { return d.usable(nil) }

func (d *Data) usable(look *place.Look) error {
	d.once.Do(func() { d.why = usable(look, d.dir) })
	return d.why
}

func usable(look *place.Look, dir string) error {
	switch {
	case dir == "":
		return fault.New(fault.NotFound, "no data directory: neither XDG_DATA_HOME nor a home directory is known").
			Advise("set HOME, or XDG_DATA_HOME to an absolute path")
	case !filepath.IsAbs(dir):
		return fault.New(fault.NotFound, "the data directory %q is not absolute", dir).Advise("set XDG_DATA_HOME to an absolute path")
	}
	if err := Outside(look, dir); err != nil {
		return err
	}
	return look.Owned(dir)
}

// Dir returns the data directory, usable or not.
func (d *Data) Dir() string { return d.dir }

// Outside returns nil if dir is in no project. The files of a project may have come with a
// clone.
func Outside(look *place.Look, dir string) error {
	resolved, err := look.Resolve(dir)
	if err != nil {
		return fault.New(fault.Failed, "look at %s: %w", dir, err)
	}
	ways := []string{filepath.Clean(dir), resolved}
	if ways[0] == resolved {
		ways = ways[:1]
	}
	for _, at := range ways {
		for {
			if _, err := look.Lstat(filepath.Join(at, ".ai", "rye.yaml")); err == nil {
				return fault.New(fault.Auth, "%s lies in the project %s, whose files may come from anyone", dir, at).
					Advise("set HOME, or XDG_CONFIG_HOME and XDG_DATA_HOME, to directories outside it")
			}
			up := filepath.Dir(at)
			if up == at {
				break
			}
			at = up
		}
	}
	return nil
}

// Place is one directory, and the place of its record. It does not change.
type Place struct {
	Key     string // base32, lower case
	Path    string // of the directory: canonical
	Project string // the project's id; "" for a user space
	Machine string // 32 hexadecimal digits, or ""
	UID     string // decimal; "" on systems without numbers for users
	Dir     string // of the record; "" when there is no data directory
}

// At returns the place of a directory. look holds earlier lookups of files; it may be nil.
// project is the project's id, "" for a user space.
func (d *Data) At(look *place.Look, dir, project string) (Place, error) {
	path, err := canonical(look, dir)
	if err != nil {
		return Place{}, fault.New(fault.Failed, "find the record of %s: %w", dir, err)
	}
	p := Place{Path: path, Project: project, Machine: machine(), UID: uid()}
	p.Key = KeyOf(p.Path, p.Project, p.Machine, p.UID)
	if d.usable(look) == nil {
		p.Dir = filepath.Join(d.dir, "records", p.Key)
	}
	return p, nil
}

// OfProject returns a place that stands for no directory: it has the data that all directories of
// a project share, and nothing was ever recorded for it.
func (d *Data) OfProject(project string) Place {
	p := Place{Project: project}
	if d.Err() == nil {
		p.Dir = filepath.Join(d.dir, "records", "none")
	}
	return p
}

// Canonical returns the one path of a directory: absolute, without links as far as it exists,
// and in the file system's own spelling if that ignores case.
func Canonical(dir string) (string, error) { return canonical(nil, dir) }

func canonical(look *place.Look, dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := look.Resolve(abs)
	if err != nil {
		return "", err
	}
	return spelling(real), nil
}

// KeyOf returns the key of a record. It is no secret.
func KeyOf(path, project, machine, uid string) string {
	h := sha256.New()
	h.Write([]byte("rye-record-v1\x00"))
	for _, part := range []string{path, project, machine, uid} {
		h.Write([]byte{0})
		h.Write([]byte(part))
	}
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(h.Sum(nil)))
}

// Store returns the path of the git repository; "" without a data directory.
func (p Place) Store() string { return p.in("store.git") }

// Lock returns the path of the file that is locked by the process that changes the project.
func (p Place) Lock() string { return p.in("project.lock") }

// Shared returns the directory for data of the project, shared by all of this user's
// directories of it. It is "" without a data directory, and for a user space.
func (p Place) Shared() string {
	if p.Dir == "" || p.Project == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(filepath.Dir(p.Dir)), "projects", p.Project)
}

// Questions returns the directory of the questions about this directory; "" without a data
// directory.
func (p Place) Questions() string { return p.in(questions) }

// Questions returns the directory of the questions that belong to no project; "" if records
// cannot be stored here.
func (d *Data) Questions() string {
	if d.Err() != nil {
		return ""
	}
	return filepath.Join(d.dir, questions)
}

const questions = "questions"

func (p Place) in(name string) string {
	if p.Dir == "" {
		return ""
	}
	return filepath.Join(p.Dir, name)
}

// machineID reads an id in the format of systemd. Containers often have none.
func machineID(path string) string {
	raw, err := place.Read(path, 64)
	id := strings.TrimSpace(string(raw))
	if b, herr := hex.DecodeString(id); err != nil || herr != nil || len(b) != 16 {
		return ""
	}
	return id
}

// Stamp distinguishes a directory from a later one at the same path.
type Stamp struct {
	Inode uint64 // 0 if there are none
	Born  int64  // nanoseconds since 1970; 0 if birth times are not kept
}

// StampOf returns the current stamp of a directory.
func StampOf(dir string) (Stamp, error) {
	st, err := os.Stat(dir)
	if err != nil {
		return Stamp{}, err
	}
	if !st.IsDir() {
		return Stamp{}, &fs.PathError{Op: "stamp", Path: dir, Err: fs.ErrInvalid}
	}
	return stamp(dir, st), nil
}
