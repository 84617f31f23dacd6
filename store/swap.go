package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/rye-os/rye/internal/fault"
)

// Update is one move of a ref: from Old (zero: it must not exist) to New (zero:
// delete it).
type Update struct {
	Name     string
	Old, New OID
}

// Swap moves a ref durably from old to new: git's own lock file, compare, write,
// fsync, rename, fsync of the directory. When the ref is elsewhere the error is a
// *ConflictError (fault.Conflict). reason says in errors what the move was for.
func (r *Repo) Swap(ctx context.Context, name string, old, new OID, reason string) error {
	return r.SwapAll(ctx, []Update{{name, old, new}}, reason)
}

// SwapAll moves several refs: all are locked and compared before the first moves,
// so a conflict moves none. A crash may leave some of them moved, as with git.
func (r *Repo) SwapAll(ctx context.Context, updates []Update, reason string) error {
	updates, err := checkUpdates(r.format, updates)
	if err == nil && len(updates) > 0 {
		err = r.retryLocked(ctx, func() error { return r.swapLocked(updates) })
	}
	if err != nil {
		if reason != "" {
			reason = " (" + clip(reason) + ")"
		}
		var what string
		if len(updates) == 1 {
			what = " " + updates[0].Name
		}
		return rewrap(err, "move ref%s%s", what, reason)
	}
	return nil
}

// rewrap adds what was being done, and keeps the code and hint of err.
func rewrap(err error, format string, args ...any) error {
	e := fault.New(fault.CodeOf(err), format+": %w", append(args, err)...)
	e.Hint = fault.HintOf(err)
	return e
}

// checkUpdates refuses names, ids and combinations that cannot be, and returns
// the updates sorted.
func checkUpdates(f Format, updates []Update) ([]Update, error) {
	updates = append([]Update(nil), updates...)
	sort.Slice(updates, func(i, j int) bool { return updates[i].Name < updates[j].Name })
	names := make(map[string]bool, len(updates))
	for _, u := range updates {
		if err := CheckRefName(u.Name); err != nil {
			return updates, err
		}
		for _, id := range []OID{u.Old, u.New} {
			if !id.IsZero() && int(id.n) != f.size() {
				return updates, fault.New(fault.Usage, "ref %s: %s is of another object format", u.Name, id)
			}
		}
		if names[u.Name] {
			return updates, fault.New(fault.Usage, "ref %s: named twice", u.Name)
		}
		names[u.Name] = true
	}
	for _, u := range updates {
		for up := path.Dir(u.Name); up != "refs" && up != "."; up = path.Dir(up) {
			if names[up] {
				return updates, fault.New(fault.Conflict, "refs %s and %s cannot be moved together: one is a directory of the other", up, u.Name)
			}
		}
	}
	return updates, nil
}

// foreignLock says that a lock file of git, not ours, is in the way.
type foreignLock struct{ path string }

func (e *foreignLock) Error() string {
	return "lock file " + e.path + " is in the way: a git process holds it, or died holding it"
}

// lockPatience is how long a lock file of git may stay before we give up.
const lockPatience = 10 * time.Second

// retryLocked runs f under the write lock, again while a lock file of git is in
// the way. In between the write lock is free for others.
func (r *Repo) retryLocked(ctx context.Context, f func() error) error {
	giveUp := time.Now().Add(lockPatience)
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		unlock, err := r.lock(ctx)
		if err != nil {
			return err
		}
		err = f()
		unlock()
		var foreign *foreignLock
		if !errors.As(err, &foreign) {
			return err
		}
		if time.Now().After(giveUp) {
			return fault.New(fault.Conflict, "%w", err).Mend("when no git process is running: rm %s", foreign.path)
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// swapLocked moves refs. The caller holds the write lock.
func (r *Repo) swapLocked(updates []Update) (err error) {
	tx := &refTx{r: r, updates: updates}
	defer func() {
		if cerr := tx.close(); err == nil {
			err = cerr
		}
	}()
	if err := tx.prepare(); err != nil {
		return err
	}
	return tx.move()
}

// refTx is one transaction over refs: prepare, lock, compare, commit, close.
type refTx struct {
	r       *Repo
	updates []Update
	locks   []refLock // parallel to updates; one more for packed-refs when needed
	temps   []string  // the prepared files, parallel to locks
	held    int       // locks made so far; those used up by a rename are ""
	dirs    []string  // directories to sync
	header  []byte    // of packed-refs
	packed  []packedRef
}

// move makes the prepared update: lock, compare, commit.
func (tx *refTx) move() error {
	if err := tx.lockAll(); err != nil {
		return err
	}
	if err := tx.compare(); err != nil {
		return err
	}
	return tx.commit()
}

// prepare writes the file that each lock will be in our nest, records them all in
// rye.lock, and syncs both: a lock that outlives a loss of power is known, too.
// Nothing outside can see them yet.
func (tx *refTx) prepare() error {
	files := []*os.File{}
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	deletes := false
	for _, u := range tx.updates {
		content := u.New.String() + "\n"
		if u.New.IsZero() {
			content, deletes = "rye "+randomName()+"\n", true
		}
		f, err := tx.prepareLock(u.Name+".lock", content)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	if deletes {
		f, err := tx.prepareLock(packedRefsName+".lock", "rye "+randomName()+"\n")
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	if err := tx.r.recordRefLocks(tx.locks); err != nil {
		return err
	}
	return parallel(len(files)+1, func(i int) error {
		f := tx.r.write.file
		if i < len(files) {
			f = files[i]
		}
		if err := syncFile(f); err != nil {
			return fault.New(fault.Failed, "prepare ref locks: %w", err)
		}
		return nil
	})
}

func (tx *refTx) prepareLock(path, content string) (*os.File, error) {
	temp := filepath.Join(tx.r.nest, randomName())
	f, err := writeTemp(temp, []byte(content), permFile)
	if err != nil {
		return nil, fault.New(fault.Failed, "prepare %s: %w", path, err)
	}
	tx.temps = append(tx.temps, temp)
	fi, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fault.New(fault.Failed, "prepare %s: %w", path, err)
	}
	tx.locks = append(tx.locks, refLock{path, content, fi.ModTime().UnixNano()})
	return f, nil
}

// lockAll gives the prepared files the names of git's lock files. A hard link
// never replaces, so whoever is first has the lock.
func (tx *refTx) lockAll() error {
	for i, l := range tx.locks {
		if err := tx.lockOne(filepath.Join(tx.r.dir, filepath.FromSlash(l.path)), tx.temps[i]); err != nil {
			return err
		}
		tx.held++
	}
	return nil
}

func (tx *refTx) lockOne(lock, temp string) error {
	for range 10 { // git may remove an empty directory between our two steps
		err := makeLock(temp, lock)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, os.ErrExist):
			return &foreignLock{lock}
		case isNotDir(err):
			return tx.blocked(lock)
		case !isMissing(err):
			return fault.New(fault.Failed, "lock a ref: %w", err)
		}
		dirs, err := mkdirs(tx.r.dir, filepath.Dir(lock))
		if err != nil {
			if isNotDir(err) {
				return tx.blocked(lock)
			}
			return fault.New(fault.Failed, "lock a ref: %w", err)
		}
		tx.dirs = append(tx.dirs, dirs...)
	}
	if _, err := os.Stat(temp); err != nil {
		return fault.New(fault.Failed, "lock a ref: %w", err)
	}
	return tx.blocked(lock)
}

// makeLock gives the prepared file temp the name lock, which nothing may have.
func makeLock(temp, lock string) error {
	err := link(temp, lock)
	if err == nil || errors.Is(err, os.ErrExist) || isMissing(err) || isNotDir(err) {
		return err
	}
	return copyLock(temp, lock)
}

// copyLock is makeLock on file systems without hard links. A process killed
// within it may leave a lock file that only a person can remove.
func copyLock(temp, lock string) error {
	content, err := readSmall(temp, maxRefFile)
	if err != nil {
		return err
	}
	fi, err := os.Stat(temp)
	if err != nil {
		return err
	}
	f, err := writeTemp(lock, content, permFile)
	if err != nil {
		return err
	}
	err = syncFile(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Chtimes(lock, time.Time{}, fi.ModTime())
	}
	if err != nil {
		os.Remove(lock)
	}
	return err
}

// blocked names the ref that stands where a directory is needed.
func (tx *refTx) blocked(lock string) error {
	rel, err := filepath.Rel(tx.r.dir, strings.TrimSuffix(lock, ".lock"))
	if err != nil {
		return err
	}
	name := filepath.ToSlash(rel)
	for up := path.Dir(name); up != "refs" && up != "."; up = path.Dir(up) {
		if id, _, err := tx.r.looseRef(up); err == nil && !id.IsZero() {
			return nested(name, up)
		}
	}
	return &foreignLock{lock} // it was there a moment ago
}

func nested(name, other string) error {
	return fault.New(fault.Conflict, "ref %s cannot be made: ref %s exists, and one would be a directory of the other", name, other)
}

// compare checks, with all locks held, that each ref is where its update expects.
func (tx *refTx) compare() error {
	var err error
	for _, u := range tx.updates {
		id, target, err := tx.r.rawRef(u.Name)
		if err != nil {
			return err
		}
		if target != "" {
			return fault.New(fault.Conflict, "ref %s is symbolic: it is moved only by git symbolic-ref", u.Name)
		}
		if id != u.Old {
			return fault.New(fault.Conflict, "%w", &ConflictError{u.Name, u.Old, id})
		}
	}
	if tx.needsPacked() {
		if tx.header, tx.packed, err = tx.r.readPackedRefs(); err != nil {
			return err
		}
	}
	for _, u := range tx.updates {
		if u.Old.IsZero() && !u.New.IsZero() {
			if err := tx.checkNested(u.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// needsPacked reports whether packed-refs must be read whole: to make a ref (it
// may be blocked by another) or to delete one.
func (tx *refTx) needsPacked() bool {
	for _, u := range tx.updates {
		if u.Old.IsZero() || u.New.IsZero() {
			return true
		}
	}
	return false
}

// checkNested refuses a new ref that would be a directory of another, or the
// other way round; in files the rename finds out, in packed-refs nobody else would.
func (tx *refTx) checkNested(name string) error {
	for up := path.Dir(name); up != "refs" && up != "."; up = path.Dir(up) {
		for _, p := range tx.packed {
			if p.name == up {
				return nested(name, up)
			}
		}
	}
	if other := packedUnder(tx.packed, name+"/"); other != "" {
		return nested(name, other)
	}
	return nil
}

// commit makes the moves. Deletions come first: they only need removals.
func (tx *refTx) commit() error {
	if err := tx.deletePacked(); err != nil {
		return err
	}
	for i, u := range tx.updates {
		file := filepath.Join(tx.r.dir, filepath.FromSlash(u.Name))
		dir := filepath.Dir(file)
		switch {
		case u.New.IsZero():
			if err := removeFile(file); err != nil {
				return fault.New(fault.Failed, "delete ref: %w", err)
			}
		case u.New == u.Old:
			continue
		default:
			if err := tx.renameRef(file+".lock", file); err != nil {
				return err
			}
			tx.locks[i].path = "" // used up
		}
		tx.dirs = append(tx.dirs, dir)
	}
	if err := syncDirs(unique(tx.dirs)...); err != nil {
		return fault.New(fault.Failed, "sync refs: %w", err)
	}
	return nil
}

// removeFile removes a file that may be gone, or be a directory of former refs.
func removeFile(path string) error {
	if fi, err := os.Lstat(path); err == nil && fi.IsDir() {
		return nil
	}
	if err := remove(path); err != nil && !isMissing(err) && !isNotDir(err) {
		return err
	}
	return nil
}

// removeEmptyParents tidies up behind a ref that is gone. refs/heads and the like stay.
func (tx *refTx) removeEmptyParents(name string) {
	for up := path.Dir(name); strings.Count(up, "/") > 1; up = path.Dir(up) {
		if removeDir(filepath.Join(tx.r.dir, filepath.FromSlash(up))) != nil {
			return
		}
	}
}

// renameRef puts a lock file in the place of its ref. Empty directories of former
// refs may be in the way.
func (tx *refTx) renameRef(lock, file string) error {
	err := rename(lock, file)
	if err == nil {
		return nil
	}
	if fi, serr := os.Lstat(file); serr == nil && fi.IsDir() {
		removeEmpty(file)
		if err = rename(lock, file); err == nil {
			return nil
		}
		if fi, serr := os.Lstat(file); serr == nil && fi.IsDir() {
			rel, _ := filepath.Rel(tx.r.dir, file)
			name := filepath.ToSlash(rel)
			return nested(name, name+"/...")
		}
	}
	return fault.New(fault.Failed, "write ref: %w", err)
}

// removeEmpty removes dir if it holds nothing but empty directories.
func removeEmpty(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() {
			removeEmpty(filepath.Join(dir, e.Name()))
		}
	}
	removeDir(dir)
}

// deletePacked takes deleted refs out of packed-refs, whose lock is held.
func (tx *refTx) deletePacked() error {
	gone := map[string]bool{}
	for _, u := range tx.updates {
		if u.New.IsZero() {
			gone[u.Name] = true
		}
	}
	found := false
	for _, p := range tx.packed {
		found = found || gone[p.name]
	}
	if !found {
		return nil
	}
	text := withoutRefs(tx.header, tx.packed, gone)
	file := filepath.Join(tx.r.dir, packedRefsName)
	if err := writeDurable(filepath.Join(tx.r.nest, randomName()), file, text, permFile); err != nil {
		return fault.New(fault.Failed, "write %s: %w", packedRefsName, err)
	}
	if err := syncDir(tx.r.dir); err != nil {
		return fault.New(fault.Failed, "sync refs: %w", err)
	}
	return nil
}

// close removes what is left of locks and prepared files, then the record.
func (tx *refTx) close() error {
	var errs []error
	for i, l := range tx.locks {
		if l.path == "" {
			continue
		}
		if i < tx.held {
			if err := removeFile(filepath.Join(tx.r.dir, filepath.FromSlash(l.path))); err != nil {
				errs = append(errs, err)
			}
		}
		tx.removeEmptyParents(l.path)
	}
	for _, t := range tx.temps {
		if err := remove(t); err != nil && !isMissing(err) {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return fault.New(fault.Failed, "remove lock files: %w", errors.Join(errs...))
	}
	tx.r.recordRefLocks(nil) // a record without its locks does no harm; the move is done
	return nil
}
