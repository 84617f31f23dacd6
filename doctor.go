package rye

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store/space"
)

// Doctor looks at what rye needs here and says what is missing and how to mend it.
// It changes nothing.
func (r *Rye) Doctor(ctx context.Context) ([]DoctorCheck, error) {
	all := []DoctorCheck{r.checkKey(ctx), r.checkTrust(), r.checkProject(), r.checkSystem()}
	for _, kind := range []string{"python3", "bash", "node"} {
		all = append(all, r.checkInterpreter(kind))
	}
	all = append(all, checkProgram("git", "rye works without git; with it, your own credentials and proxies are used"))
	all = append(all, checkSandbox()...)
	return all, ctx.Err()
}

func (r *Rye) checkKey(ctx context.Context) DoctorCheck {
	c := DoctorCheck{Name: "key"}
	if held(r.o.Key) {
		k, err := r.signerFor(ctx)
		if err != nil {
			c.Text, c.Mend = err.Error(), fault.HintOf(err)
		} else {
			c.OK, c.Text = true, k.Public().String()+" in the "+heldName(r.o.Key)
		}
		return c
	}
	pub, err := trust.ReadPublic(r.keyPath(r.o.Key))
	switch {
	case fault.Is(err, fault.NotFound):
		c.Text, c.Mend = "no signing key at "+r.keyPath(r.o.Key), fault.Command("rye key new")
	case err != nil:
		c.Text, c.Mend = err.Error(), fault.HintOf(err)
	default:
		c.OK, c.Text = true, pub.Fingerprint().String()+" at "+r.keyPath(r.o.Key)
	}
	return c
}

func (r *Rye) checkTrust() DoctorCheck {
	st, err := trust.LoadStore(r.trustPath())
	if err != nil {
		return DoctorCheck{Name: "trust", Text: err.Error(), Mend: fault.HintOf(err)}
	}
	return DoctorCheck{Name: "trust", OK: true, Text: fmt.Sprintf("%s: %s", r.trustPath(), plural(len(beliefs(st)), "belief"))}
}

func (r *Rye) checkProject() DoctorCheck {
	c := DoctorCheck{Name: "project"}
	if r.o.Project == "" {
		c.OK, c.Text, c.Mend = true, "none in this directory or above", fault.Command("rye init")
		return c
	}
	p, err := readProject(r.o.Project)
	if err != nil {
		c.Text, c.Mend = err.Error(), fault.HintOf(err)
		return c
	}
	c.OK, c.Text = true, fmt.Sprintf("%s, namespace %s", r.o.Project, p.Namespace)
	return c
}

func (r *Rye) checkSystem() DoctorCheck {
	b, err := r.system()
	if err != nil {
		return DoctorCheck{Name: "standard library", Text: err.Error()}
	}
	return DoctorCheck{Name: "standard library", OK: true, Text: plural(len(b.Refs()), "item") + ", compiled in, manifest signed"}
}

func (r *Rye) checkInterpreter(kind string) DoctorCheck {
	path, err := r.interpreter(kind)
	if err != nil {
		return DoctorCheck{Name: kind, OK: true, Text: "not found; tools that need it will be refused", Mend: fault.HintOf(err)}
	}
	return DoctorCheck{Name: kind, OK: true, Text: path}
}

// checkSandbox attempts every forbidden act inside the sandbox, for real, and
// again in the stronger one, which is only for who demands it.
func checkSandbox() []DoctorCheck {
	rep, err := primitive.Probe()
	if err != nil {
		return []DoctorCheck{{Name: "sandbox", Text: err.Error()}}
	}
	c := DoctorCheck{Name: "sandbox"}
	c.OK, c.Text = refusals(fmt.Sprintf("%s, Landlock %d", rep.Tier, rep.Landlock), rep.Acts)
	deeper := DoctorCheck{Name: "sandbox S3", OK: true, Text: "not offered; tools that demand it will be refused: " + rep.NoDeeper, Mend: fault.Advice("install bubblewrap, and allow user namespaces")}
	if rep.Deeper != nil {
		deeper.OK, deeper.Text = refusals("S3, bubblewrap", rep.Deeper)
		deeper.Mend = fault.Hint{}
	}
	return []DoctorCheck{c, deeper}
}

func refusals(what string, acts []primitive.Act) (ok bool, text string) {
	var allowed []string
	for _, a := range acts {
		if !a.Refused {
			allowed = append(allowed, a.Name)
		}
	}
	if len(allowed) > 0 {
		return false, what + ": not refused: " + strings.Join(allowed, ", ")
	}
	return true, fmt.Sprintf("%s: %s attempted inside, all refused", what, plural(len(acts), "forbidden act"))
}

func checkProgram(name, without string) DoctorCheck {
	path, err := exec.LookPath(name)
	if err != nil {
		return DoctorCheck{Name: name, OK: true, Text: "not found: " + without}
	}
	return DoctorCheck{Name: name, OK: true, Text: path}
}

// Fsck checks the stores of the project and the user: HEAD, refs, their logs, every
// object that these reach, the line of commits and who signed them. Each damage is a
// check of its own, with what mends it. The error is the first damage.
func (r *Rye) Fsck(ctx context.Context) ([]DoctorCheck, error) {
	s, err := r.open()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var (
		all   []DoctorCheck
		first error
	)
	for _, l := range s.stack.Layers() {
		name := l.Space.String() + " space"
		f, err := l.Fsck(ctx)
		if err != nil {
			return all, err
		}
		for _, d := range f.Damage {
			all = append(all, DoctorCheck{Name: name, Text: d.Error(), Mend: fault.HintOf(d)})
			first = cmp.Or(first, d)
		}
		if len(f.Damage) == 0 {
			all = append(all, DoctorCheck{Name: name, OK: true, Text: s.fscked(l, f)})
		}
	}
	return all, first
}

// fscked says of a store that nothing is wrong with it, and what that means.
func (s *session) fscked(l *space.Layer, f *space.Checked) string {
	if f.Objects == 0 {
		return l.Dir + ": nothing recorded yet"
	}
	own, others := 0, 0
	for key, n := range f.Signers {
		if s.trust.IsOwn(key) {
			own += n
		} else {
			others += n
		}
	}
	text := fmt.Sprintf("%s: %s reachable, each hashed; %s, %d signed by you", f.Dir, plural(f.Objects, "object"), plural(f.Commits, "commit"), own)
	if others > 0 {
		text += fmt.Sprintf(", %d by others", others)
	}
	if f.Unsigned > 0 {
		text += fmt.Sprintf(", %d unsigned", f.Unsigned)
	}
	return text
}
