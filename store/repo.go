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

// Repo is a bare git repository on disk. It is safe for concurrent use, also by
// other processes, rye's and git's.
type Repo struct {
	Reader
	dir   string
	files *files
	disk  *diskObjects
	logs  logRule
	write writeLock

	incoming  *diskObjects // where git keeps what is being pushed; nil: nothing is
	ownExpiry bool         // the repository says how long logs are kept: git's work then

	mu     sync.Mutex
	tidied bool           // what dead processes left was removed,
	swept  int            // of how many
	nest   string         // this Repo's directory below rye.tmp, once made
	pin    *os.File       // the locked file that shows that the nest is in use
	keeps  map[*keep]bool // packs protected from git repack until Release
	closed bool
}

// Init makes a bare SHA-1 repository at dir, whose HEAD names the branch head
// ("refs/heads/..."). It appears complete or not at all. When something is at dir
// already: fault.Conflict (ErrExist).
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
			return fault.New(fault.Conflict, "make repository %s: something is there already: %w", dir, ErrExist)
		}
		return fault.New(fault.Failed, "make repository %s: %w", dir, err)
	}
	return nil
}

// layOut makes the files of a new repository in temp.
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

// renameNew moves a directory to a name that nothing has. An empty directory
// there counts as nothing.
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

// Open opens the bare repository (or the .git directory) at dir for reading and,
// once a writing method is called, for writing. It creates nothing. Missing:
// fault.NotFound (ErrNotExist); a format of git that rye cannot read, and a link or
// anything else in the place of a file or a directory, is fault.Malformed; a repository
// that belongs to another user is an *OwnerError (fault.Denied).
func Open(dir string) (*Repo, error) { return open(dir, place.IsUser) }

// OpenSafe is Open, and safe is asked about a repository that belongs to another user:
// true says that this user trusts it.
func OpenSafe(dir string, safe func(dir string) bool) (*Repo, error) {
	return open(dir, func(uid int) bool { return place.IsUser(uid) || safe(dir) })
}

// OwnerError says that a repository belongs to another user: as with git, nothing in it
// is read or written.
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
			Advise("where user %d is you as well: sudo chown -R %d %s", uid, os.Geteuid(), dir)
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
		case need != "objects/pack": // which git removes when nothing is packed
			return nil, notFound("open repository %s: no directory %s", f.dir, need)
		}
	}
	disk := &diskObjects{files: f, at: "objects", format: c.format}
	r := &Repo{dir: f.dir, files: f, disk: disk, logs: c.logs, ownExpiry: c.ownExpiry, keeps: map[*keep]bool{}}
	r.Reader.init(c.format, disk)
	r.write.sem = make(chan struct{}, 1)
	return r, nil
}

// Close releases files and what is left of this Repo's own unfinished writing.
// The Repo cannot be used after it.
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

// keep is a .keep file: git repack leaves its pack alone.
type keep struct{ path string }

// protect makes the .keep file of a pack that is about to appear at pack.
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
		return nil, nil // someone else protects the same pack: theirs to release
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
