package main

import (
	"net/http"
	"os"
	"path/filepath"

	"github.com/rye-os/rye/internal/githost"
	"github.com/rye-os/rye/store"
)

// ownBackend makes an empty bare repository and serves it without git. The listener is
// on loopback, so no other machine can push.
func ownBackend(dir string) (http.Handler, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	r, err := store.Init(dir, "refs/heads/main")
	if err != nil {
		return nil, err
	}
	return &githost.Server{Root: filepath.Dir(dir), AllowPush: true}, r.Close()
}
