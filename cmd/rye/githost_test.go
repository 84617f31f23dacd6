package main_test

import (
	"net/http/cgi"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// serveRepositories serves the repositories below the script's directory by git's own http-backend,
// hooks and all, and sets URL.
func serveRepositories(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: githost")
	}
	out, err := exec.Command("git", "--exec-path").Output()
	ts.Check(err)
	env := []string{"GIT_PROJECT_ROOT=" + ts.Getenv("WORK"), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1"}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "TOP", "RYE_USER", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"} {
		env = append(env, name+"="+ts.Getenv(name))
	}
	s := httptest.NewServer(&cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"), Env: env})
	ts.Defer(s.Close)
	ts.Setenv("URL", s.URL)
}
