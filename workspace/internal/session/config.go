package session

import (
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store/records"
)

// sound holds the pairs of configuration directory and project without any problem found by
// CheckConfig in this process.
var sound sync.Map

// CheckConfig refuses (fault.Auth) a configuration directory through which someone else could
// change the user's trust. That is none or a relative one, one that others may write, one in a
// project, and one in the project's git checkout. A branch or an archive brings a checkout's
// files. A missing directory is empty.
func CheckConfig(h *Host) error { return checkConfigOf(nil, h) }

func checkConfigOf(look *place.Look, h *Host) error {
	pair := [2]string{h.ConfigDir, h.ProjectDir}
	if _, ok := sound.Load(pair); ok {
		return nil
	}
	if err := checkConfig(look, h.ConfigDir, h.ProjectDir); err != nil {
		return err
	}
	sound.Store(pair, nil)
	return nil
}

func checkConfig(look *place.Look, config, project string) error {
	if !filepath.IsAbs(config) {
		return fault.New(fault.Auth, "no configuration directory: neither HOME nor XDG_CONFIG_HOME is an absolute path").
			Advise("set HOME, or XDG_CONFIG_HOME to an absolute path")
	}
	if err := records.Outside(look, config); err != nil {
		return fault.Wrap(err, "rye refuses the configuration directory")
	}
	if checkout, same := sameCheckout(look, config, project); same {
		return fault.New(fault.Auth, "the configuration directory %s is in the same git checkout as the project, %s, so a branch could change your trust",
			config, checkout).Advise("set XDG_CONFIG_HOME to a directory outside it, or give the project its own repository: git init %s", project)
	}
	if err := look.Trusted(filepath.Join(config, "trust.yaml")); err != nil {
		return fault.Wrap(err, "rye refuses the configuration")
	}
	return nil
}

// sameCheckout returns the checkout that contains both directories.
func sameCheckout(look *place.Look, config, project string) (string, bool) {
	if project == "" {
		return "", false
	}
	of := checkoutOf(look, project)
	return of, of != "" && of == checkoutOf(look, config)
}

// checkoutOf returns the nearest directory at or above dir that is a git working tree; "" when
// there is none.
func checkoutOf(look *place.Look, dir string) string {
	at, err := look.Resolve(dir)
	if err != nil {
		return ""
	}
	for {
		if _, err := look.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		up := filepath.Dir(at)
		if up == at {
			return ""
		}
		at = up
	}
}

// loadTrust reads the trust store, and lets it name the user's key files for unknown keys.
func loadTrust(h *Host) (*trust.Store, error) {
	st, err := trust.LoadStore(h.TrustPath())
	if err != nil {
		return nil, err
	}
	_, state := h.Registries()
	if err := st.RevokedIn(state); err != nil {
		return nil, err
	}
	files := sync.OnceValue(func() map[objects.Fingerprint]string { return keyFiles(h.KeyDir()) })
	st.KeyFiles(func(fp objects.Fingerprint) string { return files()[fp] })
	return st, nil
}

// maxKeyFiles bounds the number of files that are read to find a key's file.
const maxKeyFiles = 100

// keyFiles returns the files of signing keys, by the key in each.
func keyFiles(dir string) map[objects.Fingerprint]string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // no directory: no keys
	}
	files := map[objects.Fingerprint]string{}
	for _, e := range entries[:min(len(entries), maxKeyFiles)] {
		path := filepath.Join(dir, e.Name())
		if pub, err := trust.ReadPublic(path); err == nil && !strings.Contains(e.Name(), ".") {
			files[pub.Fingerprint()] = path
		}
	}
	return files
}
