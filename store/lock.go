package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
)

// The files that rye adds to a repository. Git ignores both; with its ending the first can
// never be a ref.
const (
	lockName = "rye.lock" // holds the recorded lock files; locked by the kernel
	tempName = "rye.tmp"  // a directory with one directory of temporary files ("nest") per writing process
)

// errBusy means that another process or Repo holds a kernel lock.
var errBusy = errors.New("lock is held by another process")

// maxWait bounds waiting for locks when the caller's context does not.
const maxWait = 60 * time.Second

// writeLock orders the writers of one repository. A Repo has one.
type writeLock struct {
	sem  chan struct{} // for this Repo's goroutines
	file *os.File      // rye.lock, once opened; used only while sem is held

	// loose is the number of loose objects made by edits since the last count, as rye.lock has
	// it; negative: unknown. Used only while the lock is held.
	loose int
}

// lock takes the repository's write lock and cleans up after dead processes. The caller must
// call unlock.
func (r *Repo) lock(ctx context.Context) (unlock func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxWait, fault.New(fault.Conflict,
		"write to %s: another process has held %s for %v", r.dir, lockName, maxWait).Advise("wait for the other rye command, or end it"))
	defer cancel()
	w := &r.write
	select {
	case w.sem <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := r.lockFile(ctx); err != nil {
		<-w.sem
		return nil, err
	}
	unlock = func() {
		funlock(w.file)
		<-w.sem
	}
	if err := r.afterLock(); err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// lockFile locks rye.lock, and tries again if the file was replaced during the wait.
func (r *Repo) lockFile(ctx context.Context) error {
	w := &r.write
	for {
		if w.file == nil {
			f, err := r.files.openTo(lockName, os.O_CREATE, permFile)
			if err != nil {
				return fault.Wrap(err, "open the write lock")
			}
			w.file = f
		}
		if err := flockContext(ctx, w.file); err != nil {
			w.file = nil // an abandoned wait may still be using it
			return err
		}
		if r.files.isAt(w.file, lockName) {
			return nil
		}
		w.file.Close()
		w.file = nil
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
	}
}

// flockContext waits for the lock in the kernel, which is fair, and gives up when ctx ends. It
// closes f when it fails.
func flockContext(ctx context.Context, f *os.File) error {
	err := flock(f, false)
	if err == nil {
		return nil
	}
	if !errors.Is(err, errBusy) {
		f.Close()
		return err
	}
	defer place.Waiting("another rye process that holds " + f.Name())()
	done := make(chan error, 1)
	go func() { done <- flock(f, true) }()
	select {
	case err := <-done:
		if err != nil {
			f.Close()
		}
		return err
	case <-ctx.Done():
		go func() { // the wait in the kernel cannot be interrupted
			<-done
			funlock(f)
			f.Close()
		}()
		return context.Cause(ctx)
	}
}

// afterLock runs first each time the lock is taken.
func (r *Repo) afterLock() error {
	if err := r.mendRefLocks(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return fault.New(fault.Failed, "write to %s: the repository was closed", r.dir)
	}
	if r.tidied {
		return nil
	}
	if err := r.files.mkdir(tempName); err != nil && !errors.Is(err, os.ErrExist) {
		return fault.Wrap(err, "make a directory for temporary files")
	}
	n, err := r.cleanNests()
	r.tidied, r.swept = err == nil, r.swept+n
	return err
}

// deskName returns a name for a temporary file that is used only under the write lock. So a
// file that is there when the lock is taken belongs to a dead process. A nest would cost a
// tenth of a small commit.
func deskName() string { return path.Join(tempName, randomName()) }

// makeNest makes this Repo's own directory for temporary files that outlive the write lock.
// The caller holds that lock and mu. A nest is in use exactly as long as the kernel's lock on
// its file "pin" is held.
func (r *Repo) makeNest() error {
	nest := deskName()
	if err := r.files.mkdir(nest); err != nil {
		return fault.Wrap(err, "make a directory for temporary files")
	}
	pin, err := r.files.create(path.Join(nest, pinName), permFile)
	if err == nil {
		err = flock(pin, false)
	}
	if err != nil {
		return fault.New(fault.Failed, "make a directory for temporary files: %w", err)
	}
	r.nest, r.pin = nest, pin
	return nil
}

const pinName = "pin"

// cleanNests removes the files and nests of dead processes, and the .keep files with which
// they protected packs from git repack. It returns the number of those processes. The next
// process tries again to remove files that cannot be removed now. The caller holds the write
// lock.
func (r *Repo) cleanNests() (n int, err error) {
	dead, files, err := r.deadNests()
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		if r.files.remove(f) == nil {
			n = 1 // counted as one process: the files do not show how many died
		}
	}
	if len(dead) == 0 {
		return n, nil
	}
	// The .keep files go first: without its nest, a .keep file is never looked for again.
	if err := r.dropKeeps(dead); err != nil {
		return n, fault.New(fault.Failed, "look for leftovers: %w", err)
	}
	for _, nest := range dead {
		step()
		if r.files.removeAll(nest) == nil {
			n++
		}
	}
	return n, nil
}

// dropKeeps removes the .keep files that name one of the nests.
func (r *Repo) dropKeeps(nests []string) error {
	dir := r.disk.name("pack")
	names, err := r.files.readDir(dir)
	if err != nil {
		return err
	}
	for _, n := range names {
		if !strings.HasSuffix(n.Name(), ".keep") {
			continue
		}
		k := path.Join(dir, n.Name())
		b, err := r.files.read(k, 256)
		name, ours := strings.CutPrefix(strings.TrimSpace(string(b)), keepPrefix)
		if err == nil && ours && slices.ContainsFunc(nests, func(n string) bool { return path.Base(n) == name }) {
			if err := r.files.remove(k); err != nil && !isMissing(err) {
				return err
			}
		}
	}
	return nil
}

// keepPrefix begins the text of our .keep files; the nest's name follows.
const keepPrefix = "rye "

func (r *Repo) nestIsDead(nest string) bool {
	f, err := r.files.openTo(path.Join(nest, pinName), 0, 0)
	if err != nil {
		return isMissing(err) // without a pin: it is made under the write lock, which we hold, so its maker died
	}
	defer f.Close()
	if flock(f, false) != nil {
		return false
	}
	funlock(f)
	return true
}

// ownNest returns the nest, and makes it if this Repo has none yet. The caller must not hold
// the write lock.
func (r *Repo) ownNest(ctx context.Context) (string, error) {
	r.mu.Lock()
	nest := r.nest
	r.mu.Unlock()
	if nest != "" {
		return nest, nil
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	return r.nestLocked()
}

// nestLocked is ownNest for a caller that holds the write lock.
func (r *Repo) nestLocked() (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.nest != "" {
		return r.nest, nil
	}
	err := r.makeNest()
	return r.nest, err
}

// refLock is one lock file that is about to be created. path is relative to the repository.
// content and mtime distinguish it from the locks of other programs.
type refLock struct {
	path    string
	content string
	mtime   int64 // nanoseconds since 1970
}

// recordRefLocks writes into rye.lock the lock files that this process is about to create. The
// caller syncs it before creating them. The count of loose objects comes first in the same
// write.
func (r *Repo) recordRefLocks(locks []refLock) error {
	var body bytes.Buffer
	if r.write.loose >= 0 {
		fmt.Fprintf(&body, "loose %d\n", r.write.loose)
	}
	for _, l := range locks {
		fmt.Fprintf(&body, "%d %s %s\n", l.mtime, strconv.Quote(l.content), strconv.Quote(l.path))
	}
	record := fmt.Appendf(nil, "rye ref locks %010d\n", body.Len())
	err := step()
	if err == nil {
		_, err = r.write.file.WriteAt(append(record, body.Bytes()...), 0)
	}
	if err != nil {
		return fault.New(fault.Failed, "write %s: %w", lockName, err)
	}
	return nil
}

const recordHead = len("rye ref locks 0000000000\n")

// readRefLocks returns the recorded lock files, and stores the count of loose objects. It
// skips lines that it cannot parse: the record only serves to remove files that match it
// exactly.
func (r *Repo) readRefLocks() ([]refLock, error) {
	r.write.loose = -1
	head := make([]byte, recordHead)
	if n, err := r.write.file.ReadAt(head, 0); n < recordHead {
		if err == io.EOF {
			return nil, nil
		}
		return nil, fault.New(fault.Failed, "read %s: %w", lockName, err)
	}
	var size int
	if _, err := fmt.Sscanf(string(head), "rye ref locks %d\n", &size); err != nil || size <= 0 || size > 1<<26 {
		return nil, nil
	}
	body, err := io.ReadAll(io.NewSectionReader(r.write.file, int64(recordHead), int64(size)))
	if err != nil {
		return nil, fault.New(fault.Failed, "read %s: %w", lockName, err)
	}
	var locks []refLock
	for _, line := range strings.Split(string(body), "\n") {
		if n, ok := strings.CutPrefix(line, "loose "); ok {
			if n, err := strconv.ParseUint(n, 10, 31); err == nil {
				r.write.loose = int(n)
			}
			continue
		}
		var l refLock
		if n, err := fmt.Sscanf(line, "%d %q %q", &l.mtime, &l.content, &l.path); n == 3 && err == nil {
			locks = append(locks, l)
		}
	}
	return locks, nil
}

// mendRefLocks removes the recorded lock files of a rye process that died. While we hold the
// write lock, no running rye has any, so a file that matches the record exactly is stale.
// Other files stay.
func (r *Repo) mendRefLocks() error {
	locks, err := r.readRefLocks()
	if err != nil || len(locks) == 0 {
		return err
	}
	var dirs []string // synced before the record is erased, see refTx.unlock
	for _, l := range locks {
		if checkName(l.path) != nil || !strings.HasSuffix(l.path, ".lock") {
			continue
		}
		_, err := r.files.lstat(l.path)
		if !isMissing(err) && !r.isAsRecorded(l) {
			continue // git has it now
		}
		if dir := r.dropDeadLog(strings.TrimSuffix(l.path, ".lock")); dir != "" {
			dirs = append(dirs, dir)
		}
		if isMissing(err) {
			continue
		}
		dirs = append(dirs, path.Dir(l.path))
		if err := r.files.remove(l.path); err != nil && !isMissing(err) {
			return fault.New(fault.Failed, "remove the stale lock of a dead process: %w", err).Mend("rm %s", r.files.path(l.path))
		}
	}
	if err := r.disk.wait.syncDirs(r.files, unique(dirs)...); err != nil {
		return fault.New(fault.Failed, "remove the stale locks of a dead process: %w", err)
	}
	return r.recordRefLocks(nil)
}

// isAsRecorded reports whether the file at l.path is the recorded one.
func (r *Repo) isAsRecorded(l refLock) bool {
	i, err := r.files.lstat(l.path)
	if err != nil || !i.isRegular() || i.mtime.UnixNano() != l.mtime || i.size != int64(len(l.content)) {
		return false
	}
	b, err := r.files.read(l.path, int64(len(l.content)))
	return err == nil && string(b) == l.content
}
