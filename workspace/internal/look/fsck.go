package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Fsck checks the stores of the project and the user: HEAD, refs, their logs, every object
// that these reach, the line of commits and their signers. Each damage is a check of its own,
// with the fix. The error is the first damage.
func Fsck(ctx context.Context, s *session.Session) ([]rye.DoctorCheck, error) {
	var (
		all   []rye.DoctorCheck
		first error
	)
	for _, l := range s.Stack.Layers() {
		name := l.Space.String() + " space"
		f, err := l.Fsck(ctx)
		if err != nil {
			return all, err
		}
		for _, d := range f.Damage {
			all = append(all, rye.DoctorCheck{Name: name, Text: d.Error(), Mend: fault.HintOf(d)})
			first = cmp.Or(first, d)
		}
		if len(f.Damage) == 0 {
			all = append(all, rye.DoctorCheck{Name: name, OK: true, Text: describeSound(s, l, f)})
		}
	}
	return all, first
}

// describeSound lists the checks of a store without damage, and the signers of its commits.
func describeSound(s *session.Session, l *space.Layer, f *space.Checked) string {
	if f.Objects == 0 {
		return l.Dir + ": nothing recorded yet"
	}
	own, others := 0, 0
	for key, n := range f.Signers {
		if s.Trust.IsOwn(key) {
			own += n
		} else {
			others += n
		}
	}
	text := fmt.Sprintf("%s: %s reachable, each hashed; %s, %d signed by you",
		f.Dir, words.Plural(f.Objects, "object"), words.Plural(f.Commits, "commit"), own)
	if others > 0 {
		text += fmt.Sprintf(", %d by others", others)
	}
	if f.Unsigned > 0 {
		text += fmt.Sprintf(", %d unsigned", f.Unsigned)
	}
	return text
}

// CheckRecords reports whether the project's and the user's record exist and are undamaged. It
// opens no session, so other problems do not stop it.
func CheckRecords(ctx context.Context, h *session.Host) []rye.DoctorCheck {
	var all []rye.DoctorCheck
	if p, err := session.ReadProject(h.ProjectDir); h.ProjectDir != "" && err == nil {
		all = append(all, checkRecord(ctx, h, objects.Project, h.ProjectDir, p.Project))
	}
	if h.UserDir != "" {
		all = append(all, checkRecord(ctx, h, objects.User, h.UserDir, ""))
	}
	return all
}

func checkRecord(ctx context.Context, h *session.Host, sp objects.Space, dir, project string) rye.DoctorCheck {
	name := "record of the " + sp.String() + " space"
	l, at, err := h.Layer(nil, sp, dir, project)
	if err != nil {
		return session.Checked(name, "", err)
	}
	defer l.Close()
	if at.Dir == "" {
		return session.Checked(name, "no record, because there is no data directory", nil)
	}
	if _, err := os.Lstat(at.Store()); errors.Is(err, fs.ErrNotExist) {
		known, there, _ := at.Known()
		if !there {
			return session.Checked(name, "no record yet, so earlier versions are unknown", nil)
		}
		return rye.DoctorCheck{Name: name, Text: fmt.Sprintf("last written on %s, now missing from %s: earlier versions are unknown", known.Used.Format(time.DateOnly), at.Store()),
			Mend: fault.Advice("restore it from a backup; otherwise the next signature begins a new record")}
	}
	f, err := l.Fsck(ctx)
	if err != nil {
		return session.Checked(name, "", err)
	}
	for _, d := range f.Damage {
		return session.Checked(name, "", d)
	}
	return session.Checked(name, fmt.Sprintf("%s, %s", at.Store(), words.Plural(f.Commits, "commit")), nil)
}
