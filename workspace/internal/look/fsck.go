package look

import (
	"cmp"
	"context"
	"fmt"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Fsck checks the stores of the project and the user: HEAD, refs, their logs, every
// object that these reach, the line of commits and who signed them. Each damage is a
// check of its own, with what mends it. The error is the first damage.
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

// describeSound says what was checked of a store without damage, and who signed its commits.
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
