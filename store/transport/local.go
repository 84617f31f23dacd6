package transport

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/store"
)

// localDialer serves a repository on this machine from within this process.
type localDialer struct{ r *Remote }

func (d *localDialer) open(ctx context.Context, service string, _ int) (session, error) {
	srv, err := openLocal(d.r.t.path, func(path string) bool { return d.r.o.safeDirectory(path) })
	if err != nil {
		return nil, err
	}
	srv.refused = func(err error) { d.r.served.Store(&err) }
	fromServer, toClient := io.Pipe()
	fromClient, toServer := io.Pipe()
	ended := make(chan struct{})
	serveCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(ended)
		defer srv.Repo.Close()
		err := srv.Serve(serveCtx, service, fromClient, toClient)
		if err == nil {
			err = io.EOF
		}
		toClient.CloseWithError(err)
		fromClient.CloseWithError(err)
	}()
	s := d.r.newStream(ctx, fromServer, toServer, func() error {
		cancel()
		toServer.Close()
		fromServer.Close()
		<-ended
		return nil
	})
	s.half = toServer.Close
	return s, nil
}

// openLocal opens the repository at a local path: a bare one, or the one of a working tree,
// whose current branch must not be moved. As in git, neither may belong to another user,
// unless the user's git lists the path as safe.
func openLocal(path string, safe func(path string) bool) (*Server, error) {
	dir := path
	switch info, err := os.Lstat(filepath.Join(path, ".git")); {
	case err != nil:
	case !info.IsDir():
		return nil, fault.New(fault.Malformed, "%s is not a directory: it points to a repository elsewhere", filepath.Join(path, ".git")).
			Advise("name the repository itself: git -C %s rev-parse --git-common-dir", path)
	default:
		dir = filepath.Join(path, ".git")
		if uid, err := place.OwnerOf(path); err == nil && !place.IsUser(uid) && !safe(path) {
			return nil, othersRepository(&store.OwnerError{Dir: path, UID: uid})
		}
	}
	repo, err := store.OpenSafe(dir, func(string) bool { return safe(path) })
	var others *store.OwnerError
	if errors.As(err, &others) {
		return nil, othersRepository(others)
	}
	if err != nil {
		return nil, err
	}
	s := &Server{Repo: repo}
	if filepath.Base(dir) == ".git" {
		if s.keep, err = repo.Head(); err != nil {
			repo.Close()
			return nil, err
		}
	}
	return s, nil
}

// othersRepository returns the error for a repository of another user, in git's words.
func othersRepository(err *store.OwnerError) error {
	return fault.New(fault.Denied, "%w", err).
		Advise("use it over ssh or https; if user %d may change the files that you read there, tell git: git config --global --add safe.directory %s", err.UID, err.Dir)
}

// safeDirectory reports whether the user's git lists path as safe although it belongs to
// another user: in the configuration of the user or the system, never in the repository's own.
func (o *Options) safeDirectory(path string) (safe bool) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	out, err := runGit(context.Background(), o, gitConfigWait, "", "config", "-z", "--includes", "--type=path", "--get-all", "safe.directory")
	if err != nil {
		return false
	}
	for value := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		below, all := strings.CutSuffix(value, "/*")
		switch {
		case value == "":
			safe = false // resets the list
		case value == "*", value == path, value == real, all && strings.HasPrefix(real, below+"/"):
			safe = true
		}
	}
	return safe
}
