package run

import (
	"fmt"
	"os/exec"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Check looks at what running needs on this machine. It changes nothing.
func (r *Runner) Check() []rye.DoctorCheck {
	var all []rye.DoctorCheck
	for _, kind := range []string{"python3", "bash", "node"} {
		all = append(all, r.checkInterpreter(kind))
	}
	all = append(all, checkProgram("git", "rye works without git; with it, your own credentials and proxies are used"))
	all = append(all, checkSandbox()...)
	return all
}

func (r *Runner) checkInterpreter(kind string) rye.DoctorCheck {
	path, err := r.interpreter(kind)
	if err != nil {
		return rye.DoctorCheck{Name: kind, OK: true, Text: "not found; tools that need it will be refused", Mend: fault.HintOf(err)}
	}
	return rye.DoctorCheck{Name: kind, OK: true, Text: path}
}

// checkSandbox attempts every forbidden act inside the sandbox, for real, and
// again in the stronger one, which is only for who demands it.
func checkSandbox() []rye.DoctorCheck {
	rep, err := primitive.Probe()
	if err != nil {
		return []rye.DoctorCheck{{Name: "sandbox", Text: err.Error()}}
	}
	c := rye.DoctorCheck{Name: "sandbox"}
	c.OK, c.Text = refusals(fmt.Sprintf("%s, Landlock %d", rep.Tier, rep.Landlock), rep.Acts)
	deeper := rye.DoctorCheck{Name: "sandbox S3", OK: true, Text: "not offered; tools that demand it will be refused: " + rep.NoDeeper, Mend: fault.Advice("install bubblewrap, and allow user namespaces")}
	if rep.Deeper != nil {
		deeper.OK, deeper.Text = refusals("S3, bubblewrap", rep.Deeper)
		deeper.Mend = fault.Hint{}
	}
	return []rye.DoctorCheck{c, deeper}
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
	return true, fmt.Sprintf("%s: %s attempted inside, all refused", what, words.Plural(len(acts), "forbidden act"))
}

func checkProgram(name, without string) rye.DoctorCheck {
	path, err := exec.LookPath(name)
	if err != nil {
		return rye.DoctorCheck{Name: name, OK: true, Text: "not found: " + without}
	}
	return rye.DoctorCheck{Name: name, OK: true, Text: path}
}
