package store

import (
	"context"
	"os"
	"path"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
)

// lostName is the file in which MendRef keeps the lines that it removes from logs.
const lostName = "rye.lost"

// MendRef moves a ref back to b.To and removes the damaged positions from its log, under the
// locks that git takes for this. It first appends the removed lines to rye.lost. It touches no
// object. If the ref moved after BrokenRefs, the error is fault.Conflict.
func (r *Repo) MendRef(ctx context.Context, b BrokenRef) error {
	if !b.Mendable() {
		return fault.New(fault.Integrity, "mend ref %s: its log has no intact position", b.Name)
	}
	err := r.retryLocked(ctx, func() error { return r.mendLocked(b) })
	if err != nil {
		return fault.Wrap(err, "mend ref %s", b.Name)
	}
	return nil
}

func (r *Repo) mendLocked(b BrokenRef) (err error) {
	tx := &refTx{r: r}
	defer tx.end(&err)
	value := b.To.String() + "\n"
	if b.Name == "HEAD" {
		value = ""
	}
	if err := tx.prepareLock(b.Name+".lock", value); err != nil {
		return err
	}
	if err := tx.holdFiles(path.Join(logsName, b.Name)); err != nil {
		return err
	}
	if b.Name != "HEAD" && r.refText(b.Name) != b.text {
		return fault.New(fault.Conflict, "it was moved meanwhile").Mend("rye fsck")
	}
	if err := checkValue(r.disk, Update{b.Name, b.At, b.To}); err != nil {
		return err
	}
	text, lost, err := r.wholeMoves(b)
	if err == nil {
		err = r.keepLost(b, lost)
	}
	if err == nil && b.MovesBack() {
		err = tx.moveBack(b.Name)
	}
	if err != nil || lost == "" {
		return err
	}
	file := logName(b.Name)
	if err = r.disk.wait.writeDurable(r.files, deskName(), file, text); err == nil {
		err = r.disk.wait.syncDir(r.files, path.Dir(file))
	}
	return err
}

// moveBack renames the first prepared file to the ref.
func (tx *refTx) moveBack(name string) error {
	if err := tx.renameRef(name); err != nil {
		return err
	}
	tx.locks[0].path = "" // renamed
	return tx.r.disk.wait.syncDirs(tx.r.files, unique(append(tx.dirs, path.Dir(name)))...)
}

// wholeMoves splits the log of a ref into the lines to keep and the lines to remove, which are
// the moves to damaged positions. A move from such a position becomes a move from the zero id.
func (r *Repo) wholeMoves(b BrokenRef) (text []byte, lost string, err error) {
	all, err := r.files.read(logName(b.Name), maxRefLog)
	if isMissing(err) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	gone := map[OID]bool{}
	for _, m := range b.Lost {
		gone[m.New] = true
	}
	for line := range strings.Lines(string(all)) {
		m, ok := parseMove(r.format, strings.TrimSuffix(line, "\n"))
		switch {
		case ok && gone[m.New]:
			lost += b.Name + " " + strings.TrimSuffix(line, "\n") + "\n"
			continue
		case ok && gone[m.Old]:
			m.Old = OID{}
			if line, err = encodeMove(r.format, m); err != nil {
				return nil, "", err
			}
		}
		text = append(text, line...)
	}
	return text, lost, nil
}

// keepLost appends the removed lines, and the old position of the ref, to rye.lost, durably.
func (r *Repo) keepLost(b BrokenRef, lost string) error {
	if b.MovesBack() {
		line, err := encodeMove(r.format, Move{b.At, b.To, mover.At(time.Now()), "fsck --repair"})
		if err != nil {
			return err
		}
		lost += b.Name + " " + line
	}
	if lost == "" {
		return nil
	}
	if err := step(); err != nil {
		return err
	}
	f, err := r.files.openTo(lostName, os.O_APPEND|os.O_CREATE, permFile)
	if err != nil {
		return fault.New(fault.Failed, "write %s: %w", lostName, err)
	}
	_, err = f.WriteString(lost)
	if serr := r.disk.wait.syncClose(f); err == nil {
		err = serr
	}
	if err == nil {
		err = r.disk.wait.syncDir(r.files, ".")
	}
	if err != nil {
		return fault.New(fault.Failed, "write %s: %w", lostName, err)
	}
	return nil
}
