package testkit

import (
	"io"
	"net/http"
	"net/http/cgi"
)

// GitBackend answers a request by git's http-backend, the file at the path program, for the
// repositories below GIT_PROJECT_ROOT, which env sets. Its path begins with prefix.
//
// The program is not told how long the body is, but reads until it ends. When it knows the length
// and the client goes away before, git 2.39 asks the closed pipe for the rest forever.
func GitBackend(w http.ResponseWriter, r *http.Request, program, prefix string, env []string) {
	r.Header.Del("Git-Protocol") // env alone sets the version
	if r.ContentLength > 0 {
		r.ContentLength = -1
	}
	(&cgi.Handler{Path: program, Root: prefix, Env: env, Stderr: io.Discard}).ServeHTTP(w, r)
}
