package run

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Check checks the requirements of runs on this machine. It changes nothing.
func (r *Runner) Check(ctx context.Context) []rye.DoctorCheck {
	var all []rye.DoctorCheck
	for _, name := range []string{"python3", "bash", "node"} {
		all = append(all, r.checkInterpreter(ctx, name))
	}
	all = append(all, r.checkVenv(ctx)...)
	all = append(all, checkProgram("git", "rye works without git; with git it uses your own credentials and proxies"))
	return append(append(append(all, r.checkNetwork()...), checkSandbox()...), r.checkOpen()...)
}

// checkOpen names what does not bind for a tool that may write the project and reach a host.
func (r *Runner) checkOpen() (all []rye.DoctorCheck) {
	box := primitive.Sandbox{}
	if r.host.ProjectDir != "" {
		box.Write = []string{r.host.ProjectDir}
		box.Owner, box.OwnerGroup = primitive.OwnerOf(r.host.ProjectDir)
	}
	if primitive.Best() < primitive.S3 {
		box.Net, box.Hosts = true, []string{"the hosts in its needs"}
	}
	_, open := primitive.Foresee(box)
	for _, what := range open {
		all = append(all, rye.DoctorCheck{Name: "not limited", OK: true, Text: what})
	}
	return all
}

// starts are arguments with which an interpreter starts, loads its library and does nothing.
var starts = map[string][]string{"python3": {"-I", "-c", "pass"}, "node": {"-e", "0"}, "bash": {"--noprofile", "--norc", "-c", ":"}}

// checkInterpreter starts the interpreter that a tool of the host's project finds.
func (r *Runner) checkInterpreter(ctx context.Context, name string) rye.DoctorCheck {
	vars := map[string]string{"python3": "RYE_PYTHON", "node": "RYE_NODE", "bash": "RYE_BASH"}
	p, err := primitive.Interpreter(primitive.Spec{Type: "system_binary", Binary: name, Var: vars[name]}, searchOf(r.host, r.keys.Options))
	if err != nil {
		return rye.DoctorCheck{Name: name, OK: true, Text: "not found, so tools that need it are refused", Mend: fault.HintOf(err)}
	}
	return started(name, p, p.Start(ctx, starts[name]...), fault.Advice("install %s again, or export %s=<path of another one>", name, vars[name]))
}

// started reports whether a program started in the sandbox.
func started(name string, p primitive.Program, err error, mend fault.Hint) rye.DoctorCheck {
	if err != nil {
		return rye.DoctorCheck{Name: name, Text: fmt.Sprintf("%s does not start in the sandbox: %v", p.Path, err), Mend: mend}
	}
	return rye.DoctorCheck{Name: name, OK: true, Text: p.Path + " starts in the sandbox"}
}

// checkVenv starts the interpreter of the project's virtual environment. It runs no file of the
// project, because nobody may have agreed to one: neither a program there nor start-up files.
func (r *Runner) checkVenv(ctx context.Context) []rye.DoctorCheck {
	const name = ".venv"
	python := filepath.Join(r.host.ProjectDir, name, "bin", "python")
	if r.host.ProjectDir == "" || os.PathSeparator != '/' {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(r.host.ProjectDir, name)); err != nil {
		return nil
	}
	mend := fault.Advice("make the environment again: uv sync, or python3 -m venv --clear .venv")
	if gone := primitive.Missing(python); gone != "" {
		return []rye.DoctorCheck{{Name: name, Text: fmt.Sprintf("%s leads to %s, which is missing", python, words.Quote(gone)), Mend: mend}}
	}
	in := searchOf(r.host, r.keys.Options)
	in.Consented, in.Vars = true, nil
	p, err := primitive.Interpreter(primitive.Spec{Type: "venv_python"}, in)
	if err != nil {
		return []rye.DoctorCheck{{Name: name, Text: python + " is not a program", Mend: mend}}
	}
	_, real, _ := primitive.Way(p.Path)
	if _, in := session.Below(r.host.ProjectDir, real); in {
		return []rye.DoctorCheck{{Name: name, OK: true, Text: words.Quote(p.Path) + " was not started, because its program lies in the project"}}
	}
	return []rye.DoctorCheck{started(name, p, p.Start(ctx, "-I", "-S", "-c", "pass"), mend)}
}

// checkSandbox attempts every forbidden act inside the sandbox, for real, and again in the
// stronger one, which only tools that demand it get.
func checkSandbox() []rye.DoctorCheck {
	rep, err := primitive.Probe()
	if err != nil {
		return []rye.DoctorCheck{{Name: "sandbox", Text: err.Error()}}
	}
	return sandboxChecks(runtime.GOOS, rep)
}

// sandboxChecks puts what was tried on a system into checks. Only Linux has namespaces to allow.
func sandboxChecks(system string, rep primitive.Report) []rye.DoctorCheck {
	c := rye.DoctorCheck{Name: "sandbox", OK: true, Text: rep.Tier.String() + ": this system has no sandbox for tools that rye can test, so nothing was attempted"}
	if rep.Tier >= primitive.S2 {
		c.OK, c.Text = refusals(fmt.Sprintf("%s, Landlock %d", rep.Tier, rep.Landlock), rep.Acts)
	}
	deeper := rye.DoctorCheck{Name: "sandbox S3", OK: true, Text: "not available, so tools run under " + rep.Tier.String() + ": " + rep.NoDeeper}
	switch {
	case system != "linux":
	case rep.Tier < primitive.S2:
		c.Mend = fault.Advice("start a kernel with Landlock (Linux 5.13 or later, with landlock in the list lsm=)")
	default:
		deeper.Mend = fault.Advice("allow user namespaces (kernel.apparmor_restrict_unprivileged_userns=0, or a profile for rye and rye-engine; in a container, its own option)")
	}
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
