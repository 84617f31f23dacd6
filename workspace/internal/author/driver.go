package author

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/diff"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/store/driver"
	"github.com/rye-os/rye/workspace/internal/session"
)

// lookAtDriver returns the state of git's merge driver in the project's repository, and the
// program that git should start. program is "" where there is nothing to set up: no project, no
// repository, or no program.
func lookAtDriver(h *session.Host) (s driver.State, program string, err error) {
	if h.ProjectDir == "" || h.Program == nil {
		return s, "", nil
	}
	dir, err := filepath.EvalSymlinks(h.ProjectDir)
	if err == nil {
		s, err = driver.Look(dir, h.Home)
	}
	if fault.Is(err, fault.NotFound) {
		return s, "", nil
	}
	return s, h.Program(), err
}

// CheckDriver reports whether git merges the project's items with rye.
func CheckDriver(h *session.Host) []rye.DoctorCheck {
	s, program, err := lookAtDriver(h)
	check := rye.DoctorCheck{Name: "merge driver", OK: true, Mend: fault.Command("rye doctor --fix")}
	switch {
	case program == "":
		return nil
	case err != nil:
		check.Text, check.Mend = "rye cannot tell: "+err.Error(), fault.Hint{}
	case s.Ready(program):
		check.Text, check.Mend = "git merges items here with rye; instead of a web site's merge button: git merge, rye resolve, rye sign, git push", fault.Hint{}
	case s.Foreign():
		check.OK, check.Text = false, "git's configuration here has a merge driver rye that rye did not write"
	case s.Line != "" && s.Program != filepath.ToSlash(program):
		check.OK, check.Text = false, "git merges items here with "+s.Program+", which is not this rye"
	default:
		check.Text = "git merges items here without rye, so edits by two people are conflicts; rye doctor --fix changes that"
	}
	return []rye.DoctorCheck{check}
}

// FixDriver shows and then writes git's merge driver for the project's repository. It returns
// the files that it wrote.
func FixDriver(ctx context.Context, s *session.Session) (written []string, err error) {
	at, program, err := lookAtDriver(s.Host)
	if program == "" || err != nil || at.Ready(program) {
		return nil, err
	}
	plan, err := at.Plan(program)
	if err != nil {
		return nil, err
	}
	q := rye.Question{Topic: "doctor", Text: "Let git merge items with rye, in this repository?", Mend: fault.Command("rye doctor --fix --yes")}
	for _, c := range plan {
		q.Lines = append(append(q.Lines, words.Quote(c.Path)), diff.Lines(c.Old, c.New)...)
	}
	if q.Lines, err = readable(q.Lines); err != nil {
		return nil, err
	}
	if err := s.Ask(ctx, q); err != nil {
		return nil, err
	}
	if err := at.Write(program, plan); err != nil {
		return nil, err
	}
	for _, c := range plan {
		written = append(written, c.Path)
	}
	return written, nil
}

// SetUpDriver makes rye git's merge driver for a project that the user just made or trusted,
// and says so. It leaves a driver alone that rye did not write, and whatever it cannot read.
func SetUpDriver(h *session.Host) {
	s, program, err := lookAtDriver(h)
	if program == "" || err != nil || s.Ready(program) {
		return
	}
	if s.Foreign() {
		h.Tell("git's configuration has a merge driver rye that rye did not write: rye doctor --fix")
		return
	}
	plan, err := s.Plan(program)
	if err == nil {
		err = s.Write(program, plan)
	}
	if err != nil {
		h.Tell(fmt.Sprintf("git does not merge the files of .ai with rye: %v", err))
		return
	}
	h.Tell("git merges the files of .ai with rye here (.git/config and .git/info/attributes)")
}
