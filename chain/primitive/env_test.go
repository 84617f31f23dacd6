package primitive

import (
	"slices"
	"testing"

	"github.com/rye-os/rye/fault"
)

// TestVariablesThatInject: what makes a loader, a shell or an interpreter run other code is
// refused, whoever sets it and however it is spelled.
func TestVariablesThatInject(t *testing.T) {
	for _, name := range []string{
		"LD_PRELOAD", "ld_preload", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "ENV", "BASH_FUNC_ls%%", "IFS", "PS4", "SHELLOPTS",
		"GLIBC_TUNABLES", "NODE_OPTIONS", "NODE_REPL_EXTERNAL_MODULE", "PYTHONSTARTUP", "PYTHONHOME", "PYTHONBREAKPOINT",
		"PERL5OPT", "PERL5LIB", "PERL5DB", "PERLLIB", "RUBYOPT", "RUBYLIB", "GEM_HOME", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS",
		"GIT_SSH_COMMAND", "GIT_CONFIG_COUNT", "GIT_EXEC_PATH", "PAGER", "EDITOR", "LESSOPEN", "SSH_AUTH_SOCK",
	} {
		env, err := environment(&Call{Argv: []string{"x"}, Env: map[string]string{name: "x"}})
		if !fault.Is(err, fault.Denied) {
			t.Errorf("%s: %v, %v", name, env, err)
		}
		if FromFile(name) {
			t.Errorf("%s may come from a file", name)
		}
	}
	env, err := environment(&Call{Argv: []string{"x"}, Env: map[string]string{"PERL_COLOR": "1", "PYTHONPATH": "/run", "ENVIRONMENT": "test"}})
	for _, want := range []string{"PERL_COLOR=1", "PYTHONPATH=/run", "ENVIRONMENT=test", "PATH=" + SafePath} {
		if err != nil || !slices.Contains(env, want) {
			t.Errorf("no %s in %q, %v", want, env, err)
		}
	}
	if FromFile("PYTHONPATH") || FromFile("RYE_HOME") || FromFile("https_proxy") || !FromFile("API_URL") {
		t.Error("what a file may set is not what it should be")
	}
}

// TestNetworkVariables: a setting of the user's network comes after the call's own, and may be one of
// git's. Nothing else that injects code passes by this way.
func TestNetworkVariables(t *testing.T) {
	env, err := environment(&Call{Argv: []string{"x"}, Env: map[string]string{"GOPROXY": "off"}, Network: map[string]string{"GOPROXY": "https://go.corp", "GIT_CONFIG_COUNT": "1", "https_proxy": "http://p:1"}})
	for _, want := range []string{"GOPROXY=off", "GIT_CONFIG_COUNT=1", "https_proxy=http://p:1"} {
		if err != nil || !slices.Contains(env, want) {
			t.Errorf("no %s in %q, %v", want, env, err)
		}
	}
	for _, name := range []string{"LD_PRELOAD", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_KEY_1", "NODE_OPTIONS", "GIT_SSH_COMMAND"} {
		if env, err := environment(&Call{Argv: []string{"x"}, Network: map[string]string{name: "x"}}); !fault.Is(err, fault.Denied) {
			t.Errorf("%s: %v, %v", name, env, err)
		}
	}
}
