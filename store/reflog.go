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

// Move is one line of the log that a ref keeps of where it pointed.
type Move struct {
	Old, New OID   // zero: the ref did not exist
	Who      Stamp // whose process moved it, and when
	Why      string
}

const (
	logsName  = "logs"
	maxRefLog = 256 << 20 // bytes
	maxReason = 1024      // bytes of a message
)

// logRule is core.logAllRefUpdates: which refs get a log that have none yet. One
// that has a log goes on with it, whatever the rule.
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

// mover is the name in logs of who moves a ref and is not the author of a commit.
var mover = Ident{Name: "rye", Email: "rye@rye.invalid"}

// encodeMove writes a line as git does: "<old> <new> <who>[\t<why>]\n", with runs
// of blanks and control characters in the message made into one blank.
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

// oneLine makes a message fit a line of a log.
func oneLine(s string) string {
	if len(s) > maxReason {
		s = s[:maxReason]
	}
	return strings.Join(strings.FieldsFunc(s, func(c rune) bool { return c <= ' ' || c == 0x7f }), " ")
}

// hex is String of id, and as many zeros as the format demands.
func (f Format) hex(id OID) string {
	if id.IsZero() {
		return f.zero()
	}
	return id.String()
}

// parseMove reads a line without its newline. Git passes over lines that it does
// not understand, such as what a loss of power tore, and so does rye.
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

// RefLog returns where a ref, or "HEAD", pointed, oldest move first. Lines that are
// no moves are left out. A ref that keeps no log has none.
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

// RefLogs lists what keeps a log, sorted: "HEAD" and refs.
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

// Roots returns what keeps objects: where refs point, and what logs name, as far
// as it is here; what is gone was let go by git.
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

// logName is where the log of a ref lies.
func logName(name string) string { return logsName + "/" + name }

// keepsLog reports whether a move of the ref is to be written down.
func (r *Repo) keepsLog(name string) bool {
	if r.logs.begins(name) {
		return true
	}
	i, err := r.files.lstat(logName(name))
	return err == nil && i.isRegular()
}

// logMoves appends to the logs, before the refs move, as git does: after a kill a
// log may say more than happened, never less. The caller holds the locks.
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

// logMove appends one line. The file stays open until commit has synced it.
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
			f.Truncate(fi.Size()) // there was no room for all of it
		}
	}
	if err != nil {
		return fault.New(fault.Failed, "write the log of %s: %w", name, err)
	}
	return nil
}

// openLog opens a log to append to, and makes it if there is none.
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

// dropOldLogs removes logs of refs that are gone, and empty directories, where the
// log of name belongs: one would be a directory of the other. It returns a ref
// whose log has to stay.
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

// dropDeadLog removes the log of a ref that does not exist, which is what a process
// leaves that died, or had no more room, before it made the ref. It returns the
// directory that changed, or "". A log that tells of more than that stays: the ref was
// lost, and its log says where it was.
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

// dropLogs removes the logs of refs that are about to be deleted: a ref without a
// log is as good as any, a log without its ref troubles git.
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

// logAge is how long a move stays in a log: git's own gc.reflogExpire.
const logAge = 90 * 24 * time.Hour

// expireLogs drops the moves before a time from all logs, as git gc does: under the
// locks that git takes for it. A log that git holds is left for the next time.
// With dryRun it only counts. The caller holds the write lock.
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

// liveMoves returns a log without the moves before a time, and how many those are.
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

// syncLogs makes what was appended durable, with the directories in dirs.
func (tx *refTx) syncLogs(dirs []string) error {
	return atOnce(len(dirs)+len(tx.logFiles), func(i int) error {
		if i < len(dirs) {
			return tx.r.disk.wait.syncDirs(tx.r.files, dirs[i])
		}
		return tx.r.disk.wait.syncFile(tx.logFiles[i-len(dirs)])
	})
}
