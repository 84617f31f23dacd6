package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store/records"
)

// Where lists the paths that rye uses, and the records of this project, or all. With q.Move it
// takes over a record first.
func Where(ctx context.Context, s *Session, q rye.WhereRequest) (*rye.WhereReport, error) {
	rep := &rye.WhereReport{User: s.UserDir, Config: s.ConfigDir, Data: s.Records.Dir(), State: s.StateDir, Cache: s.CacheDir}
	if err := s.Records.Err(); err != nil {
		rep.NoRecord, rep.Hint = err.Error(), fault.HintOf(err)
	}
	if s.Stack.User != nil {
		rep.UserRecord = s.Stack.User.Store
	}
	if q.Move != "" {
		if err := move(ctx, s, q, rep); err != nil {
			return nil, err
		}
	}
	all, err := s.Records.All()
	if err != nil {
		return nil, err
	}
	for _, k := range all {
		if q.All || s.Project != nil && k.Project == s.Place.Project && k.Key != s.Place.Key {
			rep.Records = append(rep.Records, recordInfo(s, k))
		}
	}
	if s.Project == nil {
		return rep, nil
	}
	rep.Project, rep.Record, rep.Key, rep.Replaced = s.ProjectDir, s.Place.Store(), s.Place.Key, s.Place.Replaced()
	rep.Old = OldRecord(s.Host)
	old, ok, err := s.Records.Moved(s.Place)
	if ok {
		info := recordInfo(s, old)
		rep.Offer, rep.Hint = &info, fault.Advice("rye where --move %s", old.Path)
	}
	return rep, err
}

// move takes over the record that q names.
func move(ctx context.Context, s *Session, q rye.WhereRequest, rep *rye.WhereReport) error {
	if s.Project == nil {
		return s.NoProject()
	}
	old, err := recordOf(s, q.Move)
	if err != nil {
		return err
	}
	info := recordInfo(s, old)
	rep.Moved, rep.DryRun = &info, q.DryRun
	switch {
	case old.Project != s.Place.Project:
		return fault.New(fault.Conflict, "the record of %s belongs to another project, %s", old.Path, old.Project).Advise("rye where --all")
	case info.Foreign:
		return fault.New(fault.Conflict, "the record of %s comes from another machine or user", old.Path).Advise("rye where --all")
	case !info.Gone && !info.Same:
		return fault.New(fault.Conflict, "%s still exists and uses its record", old.Path).Advise("rye where --all")
	case q.DryRun:
		return nil
	}
	if err := s.Ask(ctx, sameDirectory(s, q, old)); err != nil {
		return err
	}
	if err := s.Place.Move(old, s.Now()); err != nil {
		return err
	}
	return trust.Update(s.TrustPath(), func(st *trust.Store) error { return st.MoveGrants(old.Key, s.Place.Key) })
}

// sameDirectory asks whether a record may become this directory's, with the grants to the other.
// Inode and birth time may show that the two directories are one. Otherwise only a person, or
// the flag for it, says yes: a clone can state the same project.
func sameDirectory(s *Session, q rye.WhereRequest, old records.Known) rye.Question {
	ask := rye.Question{Topic: "take over the record of " + old.Path, Text: "Is " + s.Place.Path + " the same directory?",
		Lines: []string{"the record was made for " + old.Path + " on " + old.Made.Format(time.DateOnly) + ", with its grants"},
		Mend:  fault.CommandOf("rye", "where", "--move", q.Move, "--yes")}
	switch now, err := records.StampOf(s.Place.Path); {
	case err == nil && now == old.Stamp && now.Born != 0:
		ask.Lines = append(ask.Lines, "it is the same directory: inode and birth time match")
		return ask
	case err == nil && now.Born != 0 && old.Born != 0:
		ask.Lines = append(ask.Lines, "it is another directory: its inode or birth time differs")
	default:
		ask.Lines = append(ask.Lines, "nothing proves that it is the same directory: its birth time is unknown")
	}
	ask.Person = !q.AcceptDirectory
	ask.Mend = fault.CommandOf("rye", "where", "--move", q.Move, "--yes", "--accept-directory")
	return ask
}

// recordOf finds a record by its key, or by the path of its directory.
func recordOf(s *Session, name string) (records.Known, error) {
	all, err := s.Records.All()
	if err != nil {
		return records.Known{}, err
	}
	path, err := records.Canonical(name)
	if err != nil {
		path = name
	}
	for _, k := range all {
		if k.Key == name || k.Key != s.Place.Key && k.Project == s.Place.Project && (k.Path == path || k.Path == name) {
			return k, nil
		}
	}
	return records.Known{}, fault.New(fault.NotFound, "no record of this project for %s", name).Advise("rye where --all")
}

func recordInfo(s *Session, k records.Known) rye.RecordInfo {
	here := s.Place
	info := rye.RecordInfo{Key: k.Key, Path: k.Path, Project: k.Project, Dir: k.Dir, Gone: k.Gone(),
		Foreign: k.Path != "" && (k.Machine != here.Machine || k.UID != here.UID), Bytes: sizeOf(k.Dir)}
	if here.Key == "" { // outside a project any place identifies this machine and user
		if p, err := s.Records.At(nil, string(filepath.Separator), ""); err == nil {
			info.Foreign = k.Path != "" && (k.Machine != p.Machine || k.UID != p.UID)
		}
	}
	info.Same = here.Path != "" && k.Key != here.Key && k.Path != here.Path && SameFile(k.Path, here.Path)
	if !k.Made.IsZero() {
		info.Made, info.Used = k.Made.Format(time.DateOnly), k.Used.Format(time.DateOnly)
	}
	return info
}

// TellSiblings tells the user about other directories with a record of this project.
func TellSiblings(s *Session) error {
	all, err := s.Records.All()
	for _, k := range all {
		if k.Project == s.Place.Project && k.Key != s.Place.Key && k.Machine == s.Place.Machine && k.UID == s.Place.UID && !k.Gone() {
			s.Tell(k.Path + " belongs to the same project, with its own record")
		}
	}
	return err
}

// sizeOf adds up the readable files below a directory of rye's own.
func sizeOf(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	return n
}

// goneRecords returns the records of missing directories that this machine and this user made.
func goneRecords(s *Session) ([]rye.RecordInfo, error) {
	all, err := s.Records.All()
	var gone []rye.RecordInfo
	for _, k := range all {
		if info := recordInfo(s, k); info.Gone && !info.Foreign {
			gone = append(gone, info)
		}
	}
	return gone, err
}

// RemoveGone counts the records of missing directories, and with q.Gone removes them when a
// person agreed.
func RemoveGone(ctx context.Context, s *Session, q rye.GCRequest) (*rye.GCReport, error) {
	gone, err := goneRecords(s)
	if err != nil || len(gone) == 0 {
		return nil, err
	}
	g := &rye.GCReport{Place: "records", Dir: filepath.Dir(gone[0].Dir), Gone: gone}
	if !q.Gone || q.DryRun {
		return g, nil
	}
	question := rye.Question{Topic: "gc", Text: "Remove " + words.Plural(len(gone), "record") + " of missing directories?",
		Mend: fault.Advice("rye gc --gone --yes, after a look at rye where --all")}
	for _, r := range gone {
		question.Lines = append(question.Lines, fmt.Sprintf("%s, used %s, %d bytes", r.Path, r.Used, r.Bytes))
	}
	question.Lines = append(question.Lines, "their removals will no longer apply in other directories of the project")
	if err := s.Ask(ctx, question); err != nil {
		return g, err
	}
	for _, r := range gone {
		if err := removeRecord(s, r); err != nil {
			return g, err
		}
		g.Removed++
	}
	return g, nil
}

// removeRecord removes a record, and the grants to its directory, unless the directory is back.
func removeRecord(s *Session, r rye.RecordInfo) error {
	if _, err := os.Lstat(r.Path); !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Conflict, "remove the record of %s: the directory exists again", r.Path)
	}
	if err := os.RemoveAll(r.Dir); err != nil {
		return fault.New(fault.Failed, "remove the record of %s: %w", r.Path, err)
	}
	if err := os.Remove(records.Place{Key: r.Key, Project: r.Project, Dir: r.Dir}.Index()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Failed, "remove the index of the record of %s: %w", r.Path, err)
	}
	return trust.Update(s.TrustPath(), func(st *trust.Store) error {
		st.DropGrants(r.Key)
		return nil
	})
}
