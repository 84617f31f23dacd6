// Command stdlibsign signs the standard library as it is in the tree.
//
// It makes a key in memory, lists every file of stdlib/system in a manifest, signs
// the manifest, writes it to stdlib/manifest.yaml, and appends the version, the
// manifest's digest and the public key to stdlib/releases. The private half ends
// with the process: no second manifest can ever be signed with it. Run it from
// the module's root, by `make stdlib-sign`.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/stdlib"
)

// bundleID is the id that the manifest's signature binds, in addition to its content.
const bundleID = objects.ID("rye/bundle/stdlib")

func main() {
	dir := flag.String("dir", "stdlib", "directory of the standard library")
	version := flag.String("version", "", "version of this release; without it, the last one's with the patch number raised")
	flag.Parse()
	if err := run(context.Background(), *dir, *version, time.Now()); err != nil {
		fmt.Fprintln(os.Stderr, "stdlib-sign:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir, version string, now time.Time) error {
	files := os.DirFS(filepath.Join(dir, "system"))
	if err := checkItems(files); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dir, "releases"))
	if err != nil {
		return err
	}
	releases, err := stdlib.ParseReleases(string(text))
	if err != nil {
		return err
	}
	if len(releases) > 0 {
		last := releases[len(releases)-1]
		if version == "" && current(dir, files, last) == nil {
			fmt.Printf("stdlib-sign: nothing changed since %s\n", last.Version)
			return nil
		}
		if version, err = next(version, last.Version); err != nil {
			return err
		}
	} else if version == "" {
		version = "0.1.0"
	}
	signed, key, err := sign(ctx, files, version, now)
	if err != nil {
		return err
	}
	text = append(text, fmt.Sprintf("%s %s %s\n", version, objects.DigestOf(signed), key.Authorized())...)
	if _, err := stdlib.ParseReleases(string(text)); err != nil {
		return err
	}
	if err := errors.Join(replace(filepath.Join(dir, "manifest.yaml"), signed), replace(filepath.Join(dir, "releases"), text)); err != nil {
		return err
	}
	fmt.Printf("stdlib-sign: %s, %s, signed by %s, whose private half is gone\n", version, objects.DigestOf(signed), key.Fingerprint())
	return nil
}

// checkItems refuses a library with a file that is not a valid item.
func checkItems(files fs.FS) error {
	return fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		it, err := objects.Parse(path, raw)
		if err != nil {
			return err
		}
		for _, p := range it.Validate() {
			return fmt.Errorf("%s line %d: %s (%s)", path, p.Line, p.Rule, p.Mend)
		}
		return nil
	})
}

// current returns an error if the manifest in dir does not match the files or the last release.
func current(dir string, files fs.FS, last stdlib.Release) error {
	manifest, err := os.ReadFile(filepath.Join(dir, "manifest.yaml"))
	if err != nil {
		return err
	}
	if got := objects.DigestOf(manifest).String(); got != last.Manifest {
		return fmt.Errorf("manifest.yaml is %s, the last release %s", got, last.Manifest)
	}
	key, err := trust.ParsePublicKey(last.Key)
	if err != nil {
		return err
	}
	b, err := trust.VerifyBundle(manifest, files, []trust.PublicKey{key}) // the signed message may have changed, too
	if err != nil {
		return err
	}
	return b.Check()
}

// next returns the version after last, or the wanted one when it is later.
func next(wanted, last string) (string, error) {
	l, err := objects.ParseVersion(last)
	if err != nil {
		return "", err
	}
	if wanted == "" {
		var major, minor, patch int
		if _, err := fmt.Sscanf(last, "%d.%d.%d", &major, &minor, &patch); err != nil {
			return "", fmt.Errorf("last version %q: %w", last, err)
		}
		return fmt.Sprintf("%d.%d.%d", major, minor, patch+1), nil
	}
	w, err := objects.ParseVersion(wanted)
	if err == nil && w.Compare(l) <= 0 {
		err = fmt.Errorf("version %s is not after %s", wanted, last)
	}
	return wanted, err
}

// sign returns the manifest of files, signed with a new key that exists only during this call.
func sign(ctx context.Context, files fs.FS, version string, now time.Time) ([]byte, trust.PublicKey, error) {
	m, err := objects.ManifestOf(files, bundleID, version)
	if err != nil {
		return nil, trust.PublicKey{}, err
	}
	body, err := m.Encode()
	if err != nil {
		return nil, trust.PublicKey{}, err
	}
	key, err := trust.GenerateKey()
	if err != nil {
		return nil, trust.PublicKey{}, err
	}
	pub := key.Public()
	signed, err := trust.SignManifest(ctx, key, body, trust.Scope{Space: objects.System}, now)
	if err != nil {
		return nil, pub, err
	}
	b, err := trust.VerifyBundle(signed, files, []trust.PublicKey{pub})
	if err != nil {
		return nil, pub, err
	}
	return signed, pub, b.Check()
}

// replace writes a file as a whole, or not at all. It does nothing when the bytes are the same.
func replace(path string, data []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return nil
	}
	tmp := path + ".new"
	if err := os.WriteFile(tmp, data, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
