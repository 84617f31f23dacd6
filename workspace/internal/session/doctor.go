package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/store/records"
	"github.com/rye-os/rye/store/space"
)

// Checked is Doctor's finding about one thing: text when there is no problem, otherwise the
// error and its fix.
func Checked(name, text string, err error) rye.DoctorCheck {
	if err != nil {
		return rye.DoctorCheck{Name: name, Text: err.Error(), Mend: fault.HintOf(err)}
	}
	return rye.DoctorCheck{Name: name, OK: true, Text: text}
}

// CheckProject names this project. To be outside a project is no problem.
func CheckProject(h *Host) rye.DoctorCheck {
	if h.ProjectDir == "" {
		return rye.DoctorCheck{Name: "project", OK: true, Text: "none in this directory or above", Mend: fault.Command("rye init")}
	}
	p, err := ReadProject(h.ProjectDir)
	if err != nil {
		return Checked("project", "", err)
	}
	return Checked("project", fmt.Sprintf("%s, namespace %s", h.ProjectDir, p.Namespace), nil)
}

// Checks checks the places that rye uses: the user's configuration and data, and this
// project's .ai.
func Checks(h *Host) []rye.DoctorCheck {
	all := []rye.DoctorCheck{Checked("configuration", h.ConfigDir, CheckConfig(h)), checkData(h),
		checkState(h.StateDir), checkPolicy(h), CheckProject(h)}
	all = append(all, checkForks(h)...)
	if h.ProjectDir == "" {
		return all
	}
	if old := OldRecord(h); old != "" {
		all = append(all, rye.DoctorCheck{Name: "old record", Mend: fault.Command("rm -r %s", old),
			Text: old + " is a record of rye 0.1, or from a clone; it is ignored"})
	}
	if err := CheckLock(h); fault.Is(err, fault.Drift) {
		all = append(all, Checked("lock", "", err))
	}
	return append(all, checkFolders(h.AIDir())...)
}

// checkData checks the directory of the records: without write access, commands that record
// fail.
func checkData(h *Host) rye.DoctorCheck {
	dir, err := h.Records.Dir(), h.Records.Err()
	for _, d := range []string{dir, filepath.Join(dir, "records")} {
		if err == nil {
			err = place.Writable(d)
		}
	}
	return Checked("data", dir, err)
}

// CheckTaken reports denials of this project that have no effect here, or are not kept.
func CheckTaken(ctx context.Context, h *Host) (all []rye.DoctorCheck) {
	if h.ProjectDir == "" {
		return nil
	}
	s, err := h.OfAnyOwner().Open()
	if err != nil {
		return nil // CheckProject or CheckTrust reports it
	}
	defer s.Close()
	notes, err := s.ReportTaken(ctx)
	for _, n := range notes {
		all = append(all, rye.DoctorCheck{Name: "denials", Text: n.Text, OK: n.OK})
	}
	if err != nil {
		all = append(all, Checked("denials", "", err))
	}
	return all
}

// OldRecord returns the path of an ignored record of rye 0.1 in the project; "" where there is
// none.
func OldRecord(h *Host) string {
	if h.ProjectDir == "" {
		return ""
	}
	old := filepath.Join(h.AIDir(), space.OldRecord)
	if _, err := os.Lstat(old); err != nil {
		return ""
	}
	return old
}

// checkState checks the directory of the registries' remembered states.
func checkState(dir string) rye.DoctorCheck {
	err := records.Outside(nil, dir)
	if err == nil {
		err = place.Owned(dir)
	}
	if err == nil {
		err = place.Writable(dir)
	}
	return Checked("state", dir, err)
}

// maxFolders bounds the number of entries to check in an .ai directory.
const maxFolders = 1000

// checkFolders reports folders in an .ai directory that can hold no items: a name close to one
// of rye's is a typing mistake.
func checkFolders(dir string) (all []rye.DoctorCheck) {
	f, err := os.Open(dir)
	if err != nil {
		return []rye.DoctorCheck{Checked("folders", "", err)}
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxFolders) // the readable part
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || slices.Contains(folders, e.Name()) {
			continue
		}
		c := rye.DoctorCheck{Name: "folder", OK: true, Text: filepath.Join(dir, e.Name()) + " is not one of " + strings.Join(folders, ", ") + ", so rye reads no items from it"}
		for _, known := range folders {
			if _, near := words.Near(e.Name(), known); near {
				c.OK, c.Mend = false, renameFolder(dir, e.Name(), known)
			}
		}
		all = append(all, c)
	}
	return all
}

// folders are the known folders of an .ai directory.
var folders = []string{"bundles", "config", "directives", "knowledge", "threads", "tools", "vendor"}

// renameFolder is the fix for a folder's mistyped name.
func renameFolder(dir, from, to string) fault.Hint {
	if _, err := os.Lstat(filepath.Join(dir, to)); err == nil {
		return fault.Advice("move its files to %s", filepath.Join(dir, to))
	}
	return fault.Command("mv %s %s", filepath.Join(dir, from), filepath.Join(dir, to))
}

// CheckSystem opens the standard library, which verifies its manifest.
func CheckSystem(h *Host) rye.DoctorCheck {
	b, err := h.System()
	if err != nil {
		return Checked("standard library", "", err)
	}
	return Checked("standard library", words.Plural(len(b.Refs()), "item")+", compiled in, manifest signed", nil)
}
