package primitive

import (
	"sort"
	"strings"

	"github.com/rye-os/rye/fault"
)

// SafePath is the PATH of every program, before the directories that its Call adds.
const SafePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// injecting names variables that make a loader, shell or interpreter run unverified code or read
// unverified files. A trailing * stands for any rest. PYTHONPATH and NODE_PATH are not here,
// because the planner sets them to verified files. They are in unsigned below.
var injecting = []string{
	"LD_*", "DYLD_*", "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "BASH_FUNC_*", "IFS", "PS4", "PROMPT_COMMAND",
	"GCONV_PATH", "GLIBC_TUNABLES", "LOCPATH", "HOSTALIASES", "MALLOC_*", "SSH_*",
	"NODE_OPTIONS", "NODE_REPL_*", "PYTHONSTARTUP", "PYTHONHOME", "PYTHONINSPECT", "PYTHONBREAKPOINT",
	"PYTHONWARNINGS", "PYTHONPLATLIBDIR", "PYTHONUSERBASE", "PYTHONEXECUTABLE",
	"PERL5*", "PERLLIB", "RUBYOPT", "RUBYLIB", "GEM_*", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS",
	"GIT_EXEC_PATH", "GIT_SSH*", "GIT_CONFIG*", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_EDITOR", "GIT_ASKPASS",
	"GIT_PROXY_COMMAND", "GIT_TEMPLATE_DIR", "PAGER", "EDITOR", "VISUAL", "LESSOPEN", "LESSCLOSE",
}

// unsigned names the variables that only signed configuration or rye itself may set.
var unsigned = []string{
	"PATH", "HOME", "TMPDIR", "TMP", "TEMP", "PWD", "SHELL", "USER", "LOGNAME", "XDG_*",
	"RYE_*", "GIT_*", "PYTHON*", "NODE_*", "VIRTUAL_ENV", "*_PROXY",
}

// gitSetting are the variables of one setting of git's, which the caller of Run must know.
var gitSetting = map[string]bool{"GIT_CONFIG_COUNT": true, "GIT_CONFIG_KEY_0": true, "GIT_CONFIG_VALUE_0": true}

// Injects reports whether a variable is refused from every source.
func Injects(name string) bool { return named(injecting, name) }

// FromFile reports whether an unsigned file (.env) may set a variable.
func FromFile(name string) bool { return !named(injecting, name) && !named(unsigned, name) }

// named ignores case, as Windows does. No program needs ld_preload.
func named(list []string, name string) bool {
	name = strings.ToUpper(name)
	for _, p := range list {
		switch {
		case strings.HasSuffix(p, "*") && strings.HasPrefix(name, p[:len(p)-1]),
			strings.HasPrefix(p, "*") && strings.HasSuffix(name, p[1:]),
			p == name:
			return true
		}
	}
	return false
}

// environment returns the whole environment of c, sorted.
func environment(c *Call) ([]string, error) {
	vars := map[string]string{"PATH": SafePath, "LANG": "C.UTF-8"}
	if c.Temp != "" {
		vars["HOME"], vars["TMPDIR"] = c.Temp, c.Temp
	}
	for k, v := range platformEnv() {
		vars[k] = v
	}
	for k, v := range c.Network {
		if Injects(k) && !gitSetting[k] {
			return nil, fault.New(fault.Denied, "run %s: environment variable %q is refused: it injects unverified code", c.Argv[0], k)
		}
		vars[k] = v
	}
	if c.tunnel() {
		vars["GIT_SSH_COMMAND"] = sshCommand(c)
	}
	for k, v := range c.Env {
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.Contains(v, "\x00") {
			return nil, fault.New(fault.Usage, "run %s: environment variable %q: a name or value that a program cannot receive", c.Argv[0], k)
		}
		if Injects(k) {
			return nil, fault.New(fault.Denied, "run %s: environment variable %q is refused: it injects unverified code", c.Argv[0], k)
		}
		vars[k] = v
	}
	vars[RunVar] = strings.ReplaceAll(c.Caller, "\x00", "")
	delete(vars, BackVar)
	if c.Back != nil {
		vars[BackVar] = backAt(c)
	}
	out := make([]string, 0, len(vars))
	for k, v := range vars {
		out = append(out, k+"="+v)
	}
	sort.Strings(out)
	return out, nil
}
