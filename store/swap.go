package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
)

// Update is one move of a ref: from Old (zero: it must not exist) to New (zero:
// delete it).
type Update struct {
	Name     string
	Old, New OID
}

// Swap moves a ref durably from old to new: git's own lock file, compare, write, fsync,
// rename, fsync of the directory. If the ref is not at old, the error is a *ConflictError
// (fault.Conflict). reason is the purpose of the move, for errors and the ref's log.
func (r *Repo) Swap(ctx context.Context, name string, old, new OID, reason string) error {
	return r.SwapAll(ctx, []Update{{name, old, new}}, reason)
}

// SwapAll moves several refs. It locks and compares all before the first moves, so a conflict
// moves none. A crash may leave only some of them moved, as with git.
func (r *Repo) SwapAll(ctx context.Context, updates []Update, reason string) error {
	updates, err := checkUpdates(r.format, updates)
	if err == nil && len(updates) > 0 {
		err = r.retryLocked(ctx, func() error { return r.swapLocked(updates, reason) })
	}
	if err != nil {
		if reason != "" {
			reason = " (" + words.Brief(reason) + ")"
		}
		var what string
		if len(updates) == 1 {
			what = " " + updates[0].Name
		}
		return fault.Wrap(err, "move ref%s%s", what, reason)
	}
	return nil
}

// checkUpdates refuses impossible names, ids and combinations, and returns the updates sorted.
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

// foreignLock means that another program's lock file is in the way.
type foreignLock struct{ path string }

func (e *foreignLock) Error() string {
	return "lock file " + e.path + " is in the way: a git process holds it, or died holding it"
}

// lockPatience is how long we wait for a lock file of git.
const lockPatience = 10 * time.Second

// retryLocked runs f under the write lock, and again while a lock file of git is in the way.
// It frees the write lock between attempts.
func (r *Repo) retryLocked(ctx context.Context, f func() error) error {
	giveUp := time.Now().Add(lockPatience)
	var stop func()
	defer func() {
		if stop != nil {
			stop()
		}
	}()
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
			return fault.New(fault.Conflict, "%w", err).Advise("when no git process is running: rm %s", foreign.path)
		}
		if stop == nil {
			stop = place.Waiting("a git process that holds " + foreign.path)
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// swapLocked moves refs. The caller holds the write lock.
func (r *Repo) swapLocked(updates []Update, reason string) (err error) {
	tx := &refTx{r: r, updates: updates, who: mover, why: reason}
	defer tx.end(&err)
	if err := tx.prepare(); err != nil {
		return err
	}
	return tx.move()
}

// refTx is one transaction over refs: prepare, lock, compare, commit, close.
type refTx struct {
	r        *Repo
	updates  []Update
	who      Ident      // for the logs
	why      string     // for the logs
	head     string     // the ref in updates that HEAD names, if HEAD keeps a log
	locks    []refLock  // parallel to updates; more for packed-refs and HEAD when needed
	temps    []string   // the prepared files, parallel to locks; some have several names
	files    []*os.File // the prepared files, open until they are synced
	logFiles []*os.File // logs that were appended to, until they are synced
	held     int        // number of locks taken; a renamed or removed one has no path
	gone     []string   // removed locks
	dirs     []string   // directories to sync
	header   []byte     // of packed-refs
	packed   []packedRef
}

// move performs the prepared update: lock, compare, commit.
func (tx *refTx) move() error {
	if err := tx.lockAll(); err != nil {
		return err
	}
	if err := tx.compare(); err != nil {
		return err
	}
	return tx.commit()
}

// prepare stages and syncs. The record then names even a lock that survives a loss of power.
func (tx *refTx) prepare() error {
	if err := tx.stage(); err != nil {
		return err
	}
	return tx.sync(nil)
}

// stage writes the file that becomes each lock, and records all of them in rye.lock. Other
// processes cannot see them yet.
func (tx *refTx) stage() error {
	deletes := false
	head := ""
	if tx.r.keepsLog("HEAD") {
		head, _ = tx.r.Head() // a HEAD that names no branch keeps no log
	}
	for _, u := range tx.updates {
		content := u.New.String() + "\n"
		if u.New.IsZero() {
			content, deletes = "", true
		}
		if u.Name == head && u.Old != u.New {
			tx.head = head
		}
		if err := tx.prepareLock(u.Name+".lock", content); err != nil {
			return err
		}
	}
	if deletes {
		if err := tx.prepareLock(packedRefsName+".lock", ""); err != nil {
			return err
		}
	}
	if tx.head != "" {
		if err := tx.prepareLock("HEAD.lock", ""); err != nil {
			return err
		}
	}
	return tx.r.recordRefLocks(tx.locks)
}

// compare checks, with all locks held, that each ref is where its update expects it, and that
// the new object exists.
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
		if err := checkValue(tx.r.disk, u); err != nil {
			return err
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

// needsPacked reports whether all of packed-refs must be read: to create a ref, which another
// may block, or to delete one.
func (tx *refTx) needsPacked() bool {
	return slices.ContainsFunc(tx.updates, func(u Update) bool { return u.Old.IsZero() || u.New.IsZero() })
}

// checkNested refuses a new ref that would be a directory of another, or the reverse. For
// loose refs the rename fails; for packed refs only this check notices.
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

// commit performs the moves. The logs come first, as in git. Then come deletions, which only
// need removals.
func (tx *refTx) commit() error {
	if err := tx.logMoves(); err != nil {
		return err
	}
	if err := tx.dropLogs(); err != nil {
		return err
	}
	if err := tx.deletePacked(); err != nil {
		return err
	}
	for i, u := range tx.updates {
		switch {
		case u.New.IsZero():
			if err := tx.r.files.removeFile(u.Name); err != nil {
				return fault.New(fault.Failed, "delete ref: %w", err)
			}
		case u.New == u.Old:
			continue
		default:
			if err := tx.renameRef(u.Name); err != nil {
				return err
			}
			tx.locks[i].path = "" // renamed
		}
		tx.dirs = append(tx.dirs, path.Dir(u.Name))
	}
	dirs, err := tx.unlock()
	if err != nil {
		return err
	}
	if err := tx.syncLogs(unique(append(tx.dirs, dirs...))); err != nil {
		return fault.New(fault.Failed, "sync refs: %w", err)
	}
	return nil
}

// removeEmptyParents removes empty directories above a removed ref. refs/heads and its like
// stay.
func (tx *refTx) removeEmptyParents(name string) {
	for up := path.Dir(name); strings.Count(up, "/") > 1; up = path.Dir(up) {
		if tx.r.files.removeDir(up) != nil {
			return
		}
	}
}

// renameRef renames the lock file of a ref to the ref. It removes empty directories of former
// refs that are in the way.
func (tx *refTx) renameRef(name string) error {
	f := tx.r.files
	err := f.rename(name+".lock", name)
	if err == nil {
		return nil
	}
	if f.isDir(name) {
		f.removeEmpty(name)
		if err = f.rename(name+".lock", name); err == nil {
			return nil
		}
		if f.isDir(name) {
			return nested(name, name+"/...")
		}
	}
	return fault.New(fault.Failed, "write ref: %w", err)
}

// deletePacked removes deleted refs from packed-refs. The caller holds its lock.
func (tx *refTx) deletePacked() error {
	gone := map[string]bool{}
	for _, u := range tx.updates {
		if u.New.IsZero() {
			gone[u.Name] = true
		}
	}
	if !slices.ContainsFunc(tx.packed, func(p packedRef) bool { return gone[p.name] }) {
		return nil
	}
	text := withoutRefs(tx.header, tx.packed, gone)
	if err := tx.r.disk.wait.writeDurable(tx.r.files, deskName(), packedRefsName, text); err != nil {
		return fault.New(fault.Failed, "write %s: %w", packedRefsName, err)
	}
	if err := tx.r.disk.wait.syncDir(tx.r.files, "."); err != nil {
		return fault.New(fault.Failed, "sync refs: %w", err)
	}
	return nil
}

// unlock removes the locks that were not renamed, and the logs of refs that were not created
// in the end. The returned directories must be synced before the next record replaces ours: a
// lock that reappears after a loss of power would be in no record.
func (tx *refTx) unlock() (dirs []string, err error) {
	var errs []error
	for i, l := range tx.locks[:tx.held] {
		if l.path == "" {
			continue
		}
		dirs = append(dirs, path.Dir(l.path))
		if dir := tx.r.dropDeadLog(strings.TrimSuffix(l.path, ".lock")); dir != "" {
			dirs = append(dirs, dir)
		}
		if err := tx.r.files.removeFile(l.path); err != nil {
			errs = append(errs, err) // it stays in the record, and the next writer removes it
			continue
		}
		tx.locks[i].path, tx.gone = "", append(tx.gone, l.path)
	}
	if len(errs) > 0 {
		return dirs, fault.New(fault.Failed, "remove lock files: %w", errors.Join(errs...))
	}
	return dirs, nil
}

// close removes the remaining locks and prepared files, then the record.
func (tx *refTx) close() error {
	for _, f := range append(tx.files, tx.logFiles...) {
		f.Close()
	}
	dirs, err := tx.unlock() // after a move that failed
	if err == nil {
		err = tx.r.disk.wait.syncDirs(tx.r.files, unique(dirs)...)
	}
	errs := []error{err}
	for _, u := range tx.updates {
		if u.New.IsZero() {
			tx.removeEmptyParents(path.Join(logsName, u.Name))
		}
	}
	for _, l := range tx.locks[tx.held:] {
		tx.removeEmptyParents(l.path)
	}
	for _, l := range tx.gone {
		tx.removeEmptyParents(l)
	}
	for _, t := range unique(tx.temps) {
		if err := tx.r.files.remove(t); err != nil && !isMissing(err) {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fault.New(fault.Failed, "end a move of refs: %w", err)
	}
	tx.r.recordRefLocks(nil) // a record without its locks does no harm, and the move is done
	return nil
}
