package store

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
)

// Move is one line in the log of a ref.
type Move struct {
	Old, New OID   // zero: the ref did not exist
	Who      Stamp // the user whose process moved it, and the time
	Why      string
}

const (
	logsName  = "logs"
	maxRefLog = 256 << 20 // bytes
	maxReason = 1024      // bytes of a message
)

// logRule is core.logAllRefUpdates: the refs that get a log if they have none yet. A ref with
// a log continues it under every rule.
type logRule uint8

const (
	logNone     logRule = iota // false; unset in a bare repository
	logBranches                // true: HEAD, branches, remote branches, notes
	logAlways                  // always: every ref
)

// begins reports whether a ref without a log gets one.
func (l logRule) begins(name string) bool {
	if l == logBranches {
		return name == "HEAD" || strings.HasPrefix(name, "refs/heads/") ||
			strings.HasPrefix(name, "refs/remotes/") || strings.HasPrefix(name, "refs/notes/")
	}
	return l == logAlways
}

// mover is the name in logs for moves without an author of a commit.
var mover = Ident{Name: "rye", Email: "rye@rye.invalid"}

// encodeMove writes a line as git does: "<old> <new> <who>[\t<why>]\n". A run of blanks and
// control characters in the message becomes one blank.
func encodeMove(f Format, m Move) (string, error) {
	who, err := encodeStamp(m.Who)
	if err != nil {
		return "", err
	}
	line := f.hex(m.Old) + " " + f.hex(m.New) + " " + who
	if why := oneLine(m.Why); why != "" {
		line += "\t" + why
	}
	return line + "\n", nil
}

// oneLine shortens a message and puts it on one line.
func oneLine(s string) string {
	if len(s) > maxReason {
		s = s[:maxReason]
	}
	return strings.Join(strings.FieldsFunc(s, func(c rune) bool { return c <= ' ' || c == 0x7f }), " ")
}

// hex is String of id, with as many zeros as the format needs for the zero OID.
func (f Format) hex(id OID) string {
	if id.IsZero() {
		return f.zero()
	}
	return id.String()
}

// parseMove reads a line without its newline. As git does, rye skips lines that it cannot
// parse, such as a line torn by a loss of power.
func parseMove(f Format, line string) (m Move, ok bool) {
	n := 2 * f.size()
	if len(line) < 2*n+2 || line[n] != ' ' || line[2*n+1] != ' ' {
		return m, false
	}
	var ok1, ok2, ok3 bool
	m.Old, ok1 = parseHex(line[:n])
	m.New, ok2 = parseHex(line[n+1 : 2*n+1])
	who, why, _ := strings.Cut(line[2*n+2:], "\t")
	m.Who, ok3 = splitStamp(who)
	m.Why = why
	return m, ok1 && ok2 && ok3
}

// RefLog returns the moves of a ref, or of "HEAD", oldest first. It skips lines that are no
// moves. A ref without a log has no moves.
func (r *Repo) RefLog(name string) (moves []Move, err error) {
	if name != "HEAD" {
		if err := CheckRefName(name); err != nil {
			return nil, err
		}
	}
	text, err := r.files.read(logName(name), maxRefLog)
	if isMissing(err) || err != nil && isNotDir(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.Failed, "read the log of %s: %w", name, err)
	}
	for line := range strings.Lines(string(text)) {
		if m, ok := parseMove(r.format, strings.TrimSuffix(line, "\n")); ok {
			moves = append(moves, m)
		}
	}
	return moves, nil
}

// RefLogs lists the refs that have a log, and "HEAD" if it has one, sorted.
func (r *Repo) RefLogs() (names []string, err error) {
	err = r.files.walk(logsName, func(file string, d fs.DirEntry) error {
		name := strings.TrimPrefix(file, logsName+"/")
		if d.Type().IsRegular() && (name == "HEAD" || CheckRefName(name) == nil) {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return nil, fault.Wrap(err, "list logs")
	}
	slices.Sort(names)
	return names, nil
}

// Roots returns the ids that keep objects alive: the targets of refs, and the ids in logs that
// exist here. git has dropped the others.
func (r *Repo) Roots() ([]OID, error) { return r.roots(r.Has) }

// roots is Roots with only those ids from logs for which here is true.
func (r *Repo) roots(here func(OID) bool) ([]OID, error) {
	refs, err := r.Refs("refs/")
	if err != nil {
		return nil, err
	}
	var ids []OID
	seen := map[OID]bool{{}: true}
	for _, ref := range refs {
		if !seen[ref.ID] {
			ids = append(ids, ref.ID)
		}
		seen[ref.ID] = true
	}
	names, err := r.RefLogs()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		moves, err := r.RefLog(name)
		if err != nil {
			return nil, err
		}
		for _, m := range moves {
			for _, id := range []OID{m.Old, m.New} {
				if !seen[id] && here(id) {
					ids = append(ids, id)
				}
				seen[id] = true
			}
		}
	}
	return ids, nil
}

// logName returns the path of a ref's log.
func logName(name string) string { return logsName + "/" + name }

// keepsLog reports whether moves of the ref are logged.
func (r *Repo) keepsLog(name string) bool {
	if r.logs.begins(name) {
		return true
	}
	i, err := r.files.lstat(logName(name))
	return err == nil && i.isRegular()
}

// logMoves appends to the logs before the refs move, as git does: after a kill a log may show
// more than happened, never less. The caller holds the locks.
func (tx *refTx) logMoves() error {
	now := time.Now()
	for _, u := range tx.updates {
		if u.Old == u.New {
			continue
		}
		m := Move{u.Old, u.New, tx.who.At(now), tx.why}
		line, err := encodeMove(tx.r.format, m)
		if err != nil {
			return fault.Wrap(err, "log of %s", u.Name)
		}
		if !u.New.IsZero() && tx.r.keepsLog(u.Name) {
			if err := tx.logMove(u.Name, line); err != nil {
				return err
			}
		}
		if u.Name == tx.head {
			if err := tx.logMove("HEAD", line); err != nil {
				return err
			}
		}
	}
	return nil
}

// logMove appends one line. The file stays open until commit syncs it.
func (tx *refTx) logMove(name, line string) error {
	f, err := tx.openLog(name)
	if err != nil {
		return fault.Wrap(err, "open the log of %s", name)
	}
	tx.logFiles = append(tx.logFiles, f)
	fi, err := f.Stat()
	if err == nil && fi.Size() > 0 {
		var last [1]byte
		if _, err = f.ReadAt(last[:], fi.Size()-1); err == nil && last[0] != '\n' {
			line = "\n" + line // a torn line must not spoil this one
		}
	}
	if err == nil {
		err = step()
	}
	if err == nil {
		if _, err = f.WriteString(line); err != nil {
			f.Truncate(fi.Size()) // the disk was too full for all of it
		}
	}
	if err != nil {
		return fault.New(fault.Failed, "write the log of %s: %w", name, err)
	}
	return nil
}

// openLog opens a log for appending, and creates it if it is missing.
func (tx *refTx) openLog(name string) (*os.File, error) {
	file := logName(name)
	for range 10 {
		f, err := tx.r.files.openTo(file, os.O_APPEND, 0)
		if err == nil {
			return f, nil
		}
		if isMissing(err) {
			dirs, merr := tx.r.files.mkdirs(path.Dir(file))
			tx.dirs = append(tx.dirs, dirs...)
			if err = merr; err == nil {
				err = step()
			}
			if err == nil {
				f, err = tx.r.files.openTo(file, os.O_APPEND|os.O_CREATE|os.O_EXCL, permFile)
			}
			if err == nil {
				tx.dirs = append(tx.dirs, path.Dir(file))
				return f, nil
			}
		}
		switch {
		case isNotDir(err):
			if other := tx.dropOldLogs(name); other != "" {
				return nil, nested(name, other)
			}
		case !isMissing(err) && !errors.Is(err, os.ErrExist):
			return nil, err
		}
	}
	return nil, errors.New("logs of other refs are in the way")
}

// dropOldLogs makes room for the log of name. It removes empty directories and logs of deleted
// refs that are in the way, because one would be a directory of the other. It returns a ref
// whose log must stay.
func (tx *refTx) dropOldLogs(name string) (alive string) {
	for up := path.Dir(name); up != "refs" && up != "."; up = path.Dir(up) {
		tx.r.dropDeadLog(up)
	}
	tx.r.files.walk(logName(name), func(file string, d fs.DirEntry) error {
		below := strings.TrimPrefix(file, logsName+"/")
		tx.r.dropDeadLog(below)
		if tx.r.files.has(file) {
			alive = below
		}
		return nil
	})
	tx.r.files.removeEmpty(logName(name))
	return alive
}

// dropDeadLog removes the log of a ref that does not exist. A process leaves such a log if it
// died, or the disk was full, before it created the ref. dropDeadLog returns the directory
// that changed, or "". A log that shows more moves stays: the ref was lost, and its log shows
// where it was.
func (r *Repo) dropDeadLog(name string) string {
	if CheckRefName(name) != nil {
		return ""
	}
	file := logName(name)
	if !r.files.has(file) {
		return ""
	}
	id, target, err := r.rawRef(name)
	if err != nil || !id.IsZero() || target != "" {
		return ""
	}
	if moves, err := r.RefLog(name); err != nil || existed(moves) || r.files.removeFile(file) != nil {
		return ""
	}
	return path.Dir(file)
}

// dropLogs removes the logs of refs that are about to be deleted. A ref without a log is
// valid, but a log without its ref disturbs git.
func (tx *refTx) dropLogs() error {
	for _, u := range tx.updates {
		if !u.New.IsZero() || u.Old.IsZero() {
			continue
		}
		file := logName(u.Name)
		if !tx.r.files.has(file) {
			continue
		}
		if err := tx.r.files.removeFile(file); err != nil {
			return fault.New(fault.Failed, "remove the log of %s: %w", u.Name, err)
		}
		tx.dirs = append(tx.dirs, path.Dir(file))
	}
	return nil
}

// logAge is the age at which a move leaves a log: the default of git's gc.reflogExpire.
const logAge = 90 * 24 * time.Hour

// expireLogs removes moves before a time from all logs, as git gc does and under the same
// locks. It leaves a log that git has locked for the next time. With dryRun it only counts.
// The caller holds the write lock.
func (r *Repo) expireLogs(before time.Time, dryRun bool) (dropped int, err error) {
	names, err := r.RefLogs()
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		_, n, err := r.liveMoves(name, before)
		if n > 0 && err == nil && !dryRun {
			n, err = r.expireLog(name, before)
		}
		var foreign *foreignLock
		if err != nil && !errors.As(err, &foreign) {
			return dropped, fault.Wrap(err, "shorten the log of %s", name)
		}
		dropped += n
	}
	return dropped, nil
}

func (r *Repo) expireLog(name string, before time.Time) (dropped int, err error) {
	tx := &refTx{r: r}
	defer tx.end(&err)
	if err := tx.holdFiles(name, path.Join(logsName, name)); err != nil {
		return 0, err
	}
	text, dropped, err := r.liveMoves(name, before)
	if err != nil || dropped == 0 {
		return 0, err
	}
	file := logName(name)
	err = r.disk.wait.writeDurable(r.files, deskName(), file, text)
	if err == nil {
		err = r.disk.wait.syncDir(r.files, path.Dir(file))
	}
	return dropped, err
}

// liveMoves returns a log without the moves before a time and without unreadable lines, and
// the number of lines that it dropped.
func (r *Repo) liveMoves(name string, before time.Time) (text []byte, dropped int, err error) {
	all, err := r.files.read(logName(name), maxRefLog)
	if isMissing(err) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	for line := range strings.Lines(string(all)) {
		m, ok := parseMove(r.format, strings.TrimSuffix(line, "\n"))
		if ok && m.Who.Unix >= before.Unix() {
			text = append(text, line...)
		} else {
			dropped++
		}
	}
	return text, dropped, nil
}

// syncLogs makes the appended lines durable, and the directories in dirs.
func (tx *refTx) syncLogs(dirs []string) error {
	return atOnce(len(dirs)+len(tx.logFiles), func(i int) error {
		if i < len(dirs) {
			return tx.r.disk.wait.syncDirs(tx.r.files, dirs[i])
		}
		return tx.r.disk.wait.syncFile(tx.logFiles[i-len(dirs)])
	})
}
