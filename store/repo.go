package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
)

// Repo is a bare git repository on disk. It is safe for concurrent use, also with other
// processes of rye and git.
type Repo struct {
	Reader
	dir   string
	files *files
	disk  *diskObjects
	logs  logRule
	write writeLock

	incoming  *diskObjects // the objects directory of a running push; nil: no push
	ownExpiry bool         // the config sets how long logs are kept; then git expires them

	mu     sync.Mutex
	tidied bool           // the files of dead processes were removed
	swept  int            // the number of those processes
	nest   string         // this Repo's directory below rye.tmp, once made
	pin    *os.File       // the locked file that marks the nest as used
	keeps  map[*keep]bool // packs protected from git repack until Release
	closed bool
}

// Init makes a bare SHA-1 repository at dir. Its HEAD names the branch head
// ("refs/heads/..."). The repository appears complete or not at all. If dir exists and is not
// an empty directory, the error is fault.Conflict (ErrExist).
func Init(dir, head string) (*Repo, error) { return InitFormat(dir, head, SHA1) }

// InitFormat is Init with a chosen object format.
func InitFormat(dir, head string, f Format) (*Repo, error) {
	if err := initAt(dir, head, f, waiting{}); err != nil {
		return nil, err
	}
	return Open(dir)
}

func initAt(dir, head string, f Format, wait waiting) error {
	if err := CheckRefName(head); err != nil {
		return err
	}
	if !strings.HasPrefix(head, "refs/heads/") {
		return fault.New(fault.Usage, "HEAD %q: want a branch, refs/heads/...", head)
	}
	if f != SHA1 && f != SHA256 {
		return fault.New(fault.Usage, "object format %d: want SHA1 or SHA256", f)
	}
	dir = filepath.Clean(dir)
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, permDir); err != nil {
		return fault.New(fault.Failed, "make repository %s: %w", dir, err)
	}
	in, err := openFiles(parent)
	if err != nil {
		return fault.New(fault.Failed, "make repository %s: %w", dir, err)
	}
	defer in.close()
	temp := "." + filepath.Base(dir) + "." + randomName()
	if err = in.layOut(temp, head, f, wait); err == nil {
		err = in.renameNew(temp, filepath.Base(dir))
	}
	if err == nil {
		err = wait.syncDir(in, ".")
	}
	if err != nil {
		in.removeAll(temp)
		if errors.Is(err, ErrExist) {
			return fault.New(fault.Conflict, "make repository %s: the path exists already: %w", dir, ErrExist)
		}
		return fault.New(fault.Failed, "make repository %s: %w", dir, err)
	}
	return nil
}

// layOut creates the files of a new repository in temp.
func (f *files) layOut(temp, head string, format Format, wait waiting) error {
	dirs := []string{temp}
	for _, d := range []string{"objects", "objects/info", "objects/pack", "refs", "refs/heads", "refs/tags"} {
		dirs = append(dirs, path.Join(temp, d))
	}
	for _, d := range dirs {
		if err := f.mkdir(d); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{"HEAD": "ref: " + head + "\n", "config": newConfig(format)} {
		name = path.Join(temp, name)
		if err := wait.writeDurable(f, name+".new", name, []byte(text)); err != nil {
			return err
		}
	}
	return wait.syncDirs(f, dirs...)
}

// renameNew renames a directory. The new name must be free, or an empty directory.
func (f *files) renameNew(from, to string) error {
	if i, err := f.lstat(to); err == nil {
		if !i.isDir() || f.removeDir(to) != nil {
			return ErrExist
		}
	}
	err := f.rename(from, to)
	if err != nil && f.has(to) {
		return ErrExist
	}
	return err
}

// Open opens the bare repository (or the .git directory) at dir for reading and, once a
// writing method is called, for writing. It creates nothing. A missing repository is
// fault.NotFound (ErrNotExist). A git format that rye cannot read, or a link or another kind
// of file in place of a file or directory, is fault.Malformed. A repository of another user is
// an *OwnerError (fault.Denied).
func Open(dir string) (*Repo, error) { return open(dir, place.IsUser) }

// OpenSafe is Open, but calls safe for a repository of another user. If safe returns true, the
// user trusts the repository.
func OpenSafe(dir string, safe func(dir string) bool) (*Repo, error) {
	return open(dir, func(uid int) bool { return place.IsUser(uid) || safe(dir) })
}

// OwnerError means that a repository belongs to another user. As in git, nothing in it is read
// or written.
type OwnerError struct {
	Dir string
	UID int
}

func (e *OwnerError) Error() string {
	return "repository " + e.Dir + " belongs to user " + strconv.Itoa(e.UID) + ", not to you"
}

func open(dir string, allowed func(uid int) bool) (*Repo, error) {
	f, err := openFiles(dir)
	if isMissing(err) || err != nil && isNotDir(err) {
		return nil, notFound("open repository %s", dir)
	}
	if err != nil {
		return nil, fault.New(fault.Failed, "open repository %s: %w", dir, err)
	}
	if uid, ok := f.owner(); ok && !allowed(uid) {
		f.close()
		return nil, fault.New(fault.Denied, "%w", &OwnerError{dir, uid}).
			Advise("if user %d is you as well: sudo chown -R %d %s", uid, os.Geteuid(), dir)
	}
	r, err := f.openIn()
	if err != nil {
		f.close()
		return nil, err
	}
	return r, nil
}

// openIn opens a repository whose directory is open.
func (f *files) openIn() (*Repo, error) {
	text, err := f.read("config", maxConfig)
	if isMissing(err) || err != nil && isNotDir(err) {
		return nil, notFound("open repository %s", f.dir)
	}
	if err != nil {
		return nil, fault.Wrap(err, "open repository %s", f.dir)
	}
	c, err := parseConfig(string(text))
	if err != nil {
		return nil, fault.New(fault.Malformed, "open repository %s: %w", f.dir, err)
	}
	for _, need := range []string{"objects", "refs", "objects/pack"} {
		switch i, err := f.lstat(need); {
		case err == nil && i.isDir():
		case err == nil && i.mode&fs.ModeSymlink != 0:
			return nil, f.fail("open", need, errLink)
		case err == nil:
			return nil, f.irregular(need)
		case need != "objects/pack": // git removes it when nothing is packed
			return nil, notFound("open repository %s: no directory %s", f.dir, need)
		}
	}
	disk := &diskObjects{files: f, at: "objects", format: c.format}
	r := &Repo{dir: f.dir, files: f, disk: disk, logs: c.logs, ownExpiry: c.ownExpiry, keeps: map[*keep]bool{}}
	r.Reader.init(c.format, disk)
	r.write.sem = make(chan struct{}, 1)
	return r, nil
}

// Close closes files and removes this Repo's own unfinished writes. The Repo cannot be used
// after it.
func (r *Repo) Close() error {
	r.write.sem <- struct{}{}
	defer func() { <-r.write.sem }()
	if r.write.file != nil {
		r.write.file.Close()
		r.write.file = nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for k := range r.keeps {
		r.files.remove(k.path)
	}
	clear(r.keeps)
	if r.nest != "" {
		r.pin.Close()
		r.files.removeAll(r.nest)
		r.nest, r.pin = "", nil
	}
	errs := []error{r.disk.close(), r.files.close()}
	if r.incoming != nil {
		errs = append(errs, r.incoming.close(), r.incoming.files.close())
	}
	return errors.Join(errs...)
}

// Dir returns the directory of the repository.
func (r *Repo) Dir() string { return r.dir }

// Head returns the ref that HEAD names; "" and no error when HEAD is detached.
func (r *Repo) Head() (string, error) {
	text, err := r.files.read("HEAD", maxRefFile)
	if fault.Is(err, fault.Malformed) {
		return "", fault.New(fault.Integrity, "read HEAD of %s: %w", r.dir, err).Advise("git -C %s symbolic-ref HEAD refs/heads/<branch>", r.dir)
	}
	if err != nil {
		return "", fault.New(fault.Integrity, "read HEAD of %s: %w", r.dir, err)
	}
	line := strings.TrimRight(string(text), " \t\r\n")
	target, ok := strings.CutPrefix(line, "ref:")
	if !ok {
		if _, ok := parseHex(line); !ok {
			return "", fault.New(fault.Integrity, "read HEAD of %s: %q", r.dir, words.Brief(line))
		}
		return "", nil
	}
	target = strings.TrimLeft(target, " \t")
	if err := CheckRefName(target); err != nil {
		return "", fault.New(fault.Integrity, "read HEAD of %s: %w", r.dir, err)
	}
	return target, nil
}

// keep is a .keep file: git repack does not touch its pack.
type keep struct{ path string }

// protect creates the .keep file for a pack that is about to appear at pack.
func (r *Repo) protect(ctx context.Context, pack string) (*keep, error) {
	nest, err := r.ownNest(ctx)
	if err != nil {
		return nil, err
	}
	k := &keep{path: strings.TrimSuffix(pack, ".pack") + ".keep"}
	temp := path.Join(nest, randomName())
	f, err := r.files.writeTemp(temp, []byte(keepPrefix+path.Base(nest)+"\n"), permFile)
	if err != nil {
		return nil, fault.New(fault.Failed, "protect a new pack: %w", err)
	}
	f.Close()
	err = r.disk.wait.makeLock(r.files, temp, k.path)
	r.files.unlink(temp)
	if errors.Is(err, ErrExist) {
		return nil, nil // another process protects the same pack and will release it
	}
	if err != nil {
		return nil, fault.New(fault.Failed, "protect a new pack: %w", err)
	}
	r.mu.Lock()
	r.keeps[k] = true
	r.mu.Unlock()
	return k, nil
}

// release ends the protection; k may be nil.
func (r *Repo) release(k *keep) {
	if k == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keeps[k] {
		delete(r.keeps, k)
		r.files.remove(k.path)
	}
}
