package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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
	disk  *diskObjects
	logs  logRule
	write writeLock

	ownExpiry bool // the repository says how long logs are kept: git's work then

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
	parent := filepath.Dir(filepath.Clean(dir))
	if err := os.MkdirAll(parent, permDir); err != nil {
		return fault.New(fault.Failed, "make repository %s: %w", dir, err)
	}
	temp := filepath.Join(parent, "."+filepath.Base(dir)+"."+randomName())
	err := layOut(temp, head, f, wait)
	if err == nil {
		err = renameNew(temp, dir)
	}
	if err == nil {
		err = wait.syncDir(parent)
	}
	if err != nil {
		os.RemoveAll(temp)
		if errors.Is(err, ErrExist) {
			return fault.New(fault.Conflict, "make repository %s: something is there already: %w", dir, ErrExist)
		}
		return fault.New(fault.Failed, "make repository %s: %w", dir, err)
	}
	return nil
}

// layOut makes the files of a new repository in temp.
func layOut(temp, head string, f Format, wait waiting) error {
	dirs := []string{temp}
	for _, d := range []string{"objects", "objects/info", "objects/pack", "refs", "refs/heads", "refs/tags"} {
		dirs = append(dirs, filepath.Join(temp, filepath.FromSlash(d)))
	}
	for _, d := range dirs {
		if err := os.Mkdir(d, permDir); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{"HEAD": "ref: " + head + "\n", "config": newConfig(f)} {
		path := filepath.Join(temp, name)
		if err := wait.writeDurable(path+".new", path, []byte(text)); err != nil {
			return err
		}
	}
	return wait.syncDirs(dirs...)
}

// renameNew moves a directory to a name that nothing has. An empty directory
// there counts as nothing.
func renameNew(from, to string) error {
	if fi, err := os.Lstat(to); err == nil {
		if !fi.IsDir() || removeDir(to) != nil {
			return ErrExist
		}
	}
	err := rename(from, to)
	if err != nil {
		if _, there := os.Lstat(to); there == nil {
			return ErrExist
		}
	}
	return err
}

// Open opens the bare repository (or the .git directory) at dir for reading and,
// once a writing method is called, for writing. It creates nothing. Missing:
// fault.NotFound (ErrNotExist); a format of git that rye cannot read is
// fault.Malformed.
func Open(dir string) (*Repo, error) {
	text, err := place.Read(filepath.Join(dir, "config"), maxConfig)
	if isMissing(err) || err != nil && isNotDir(err) {
		return nil, notFound("open repository %s", dir)
	}
	if err != nil {
		return nil, fault.New(fault.Failed, "open repository %s: %w", dir, err)
	}
	c, err := parseConfig(string(text))
	if err != nil {
		return nil, fault.New(fault.Malformed, "open repository %s: %w", dir, err)
	}
	for _, need := range []string{"objects", "refs"} {
		if fi, err := os.Stat(filepath.Join(dir, need)); err != nil || !fi.IsDir() {
			return nil, notFound("open repository %s: no directory %s", dir, need)
		}
	}
	disk := &diskObjects{dir: filepath.Join(dir, "objects"), format: c.format}
	r := &Repo{dir: dir, disk: disk, logs: c.logs, ownExpiry: c.ownExpiry, keeps: map[*keep]bool{}}
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
		remove(k.path)
	}
	clear(r.keeps)
	if r.nest != "" {
		r.pin.Close()
		os.RemoveAll(r.nest)
		r.nest, r.pin = "", nil
	}
	return r.disk.close()
}

// Dir returns the directory of the repository.
func (r *Repo) Dir() string { return r.dir }

// Head returns the ref that HEAD names; "" and no error when HEAD is detached.
func (r *Repo) Head() (string, error) {
	text, err := place.Read(filepath.Join(r.dir, "HEAD"), maxRefFile)
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
	temp := filepath.Join(nest, randomName())
	f, err := writeTemp(temp, []byte(keepPrefix+filepath.Base(nest)+"\n"), permFile)
	if err != nil {
		return nil, fault.New(fault.Failed, "protect a new pack: %w", err)
	}
	f.Close()
	err = r.disk.wait.makeLock(temp, k.path)
	os.Remove(temp)
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
		remove(k.path)
	}
}
