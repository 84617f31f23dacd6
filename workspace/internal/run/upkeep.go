package run

import (
	"fmt"
	"os/exec"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Check checks the requirements of runs on this machine. It changes nothing.
func (r *Runner) Check() []rye.DoctorCheck {
	var all []rye.DoctorCheck
	for _, name := range []string{"python3", "bash", "node"} {
		all = append(all, r.checkInterpreter(name))
	}
	all = append(all, checkProgram("git", "rye works without git; with git it uses your own credentials and proxies"))
	return append(all, checkSandbox()...)
}

// checkInterpreter looks for an interpreter where a tool of the host's project finds it.
func (r *Runner) checkInterpreter(name string) rye.DoctorCheck {
	vars := map[string]string{"python3": "RYE_PYTHON", "node": "RYE_NODE", "bash": "RYE_BASH"}
	p, err := primitive.Interpreter(primitive.Spec{Type: "system_binary", Binary: name, Var: vars[name]}, searchOf(r.host, r.keys.Options))
	if err != nil {
		return rye.DoctorCheck{Name: name, OK: true, Text: "not found, so tools that need it are refused", Mend: fault.HintOf(err)}
	}
	return rye.DoctorCheck{Name: name, OK: true, Text: p.Path}
}

// checkSandbox attempts every forbidden act inside the sandbox, for real, and again in the
// stronger one, which only tools that demand it get.
func checkSandbox() []rye.DoctorCheck {
	rep, err := primitive.Probe()
	if err != nil {
		return []rye.DoctorCheck{{Name: "sandbox", Text: err.Error()}}
	}
	c := rye.DoctorCheck{Name: "sandbox"}
	c.OK, c.Text = refusals(fmt.Sprintf("%s, Landlock %d", rep.Tier, rep.Landlock), rep.Acts)
	deeper := rye.DoctorCheck{Name: "sandbox S3", OK: true, Text: "not available, so tools run under " + rep.Tier.String() + ": " + rep.NoDeeper,
		Mend: fault.Advice("allow user namespaces (kernel.apparmor_restrict_unprivileged_userns=0, or a profile for rye and rye-engine; in a container, its own option)")}
	if rep.Deeper != nil {
		deeper.OK, deeper.Text = refusals("S3, namespaces", rep.Deeper)
		deeper.Mend = fault.Hint{}
	}
	return []rye.DoctorCheck{c, deeper}
}

// refusals reports in text whether every act was refused.
func refusals(what string, acts []primitive.Act) (ok bool, text string) {
	var allowed []string
	for _, a := range acts {
		if !a.Refused {
			allowed = append(allowed, a.Name)
		}
	}
	if len(allowed) > 0 {
		return false, what + ": allowed, but should be refused: " + strings.Join(allowed, ", ")
	}
	return true, fmt.Sprintf("%s: %s attempted inside, all refused", what, words.Plural(len(acts), "forbidden act"))
}

// checkProgram looks for an optional program.
func checkProgram(name, without string) rye.DoctorCheck {
	path, err := exec.LookPath(name)
	if err != nil {
		return rye.DoctorCheck{Name: name, OK: true, Text: "not found: " + without}
	}
	return rye.DoctorCheck{Name: name, OK: true, Text: path}
}

// SweepRuns removes the directories of runs that were killed; with q.DryRun it counts them.
func SweepRuns(h *session.Host, q rye.GCRequest) (*rye.GCReport, error) {
	g := &rye.GCReport{Place: "runs", Dir: h.RunsDir()}
	var err error
	if q.DryRun {
		var left []string
		left, err = primitive.Leftovers(g.Dir)
		g.Removed = len(left)
	} else {
		g.Removed, err = primitive.Sweep(g.Dir)
	}
	return g, err
}
