package stdlib

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"sync"
)

//go:embed all:system manifest.yaml releases
var embedded embed.FS

// Files returns the system space: items at their paths below .ai, such as
// tools/rye/core/system/info.py. They are not verified.
func Files() fs.FS {
	sub, err := fs.Sub(embedded, "system")
	if err != nil { // only an invalid path can fail
		panic(err)
	}
	return sub
}

// Manifest returns the signed manifest of Files, as docs/format/bundle.md
// describes it. The caller owns the slice.
func Manifest() []byte { return mustRead("manifest.yaml") }

// A Release is a standard library that a released rye carried. A lock that names
// an older one stays valid, because this list is only ever appended to.
type Release struct {
	Version  string // of the library: a date, "2026.11.20", and ".N" for a second one that day
	Manifest string // digest of the whole manifest file: "sha256:" and 64 hexadecimal digits
	Key      string // the public key that signed it: "ssh-ed25519 AAAA..."
}

// Releases returns every release there was, oldest first. The last one describes
// Manifest. The caller owns the slice.
func Releases() []Release { return append([]Release(nil), releases()...) }

var releases = sync.OnceValue(func() []Release {
	rs, err := ParseReleases(string(mustRead("releases")))
	if err != nil { // a test reads the same file, so a program that was built from a tested tree cannot get here
		panic(err)
	}
	return rs
})

// ParseReleases reads the text of the file releases: one line per release, oldest
// first, holding the version, the manifest's digest and the public key (two
// words). Lines that are empty or begin with "#" are comments.
func ParseReleases(text string) ([]Release, error) {
	var rs []Release
	seen := make(map[string]bool)
	for i, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, " ")
		if len(f) != 4 || f[2] != "ssh-ed25519" || !strings.HasPrefix(f[1], "sha256:") {
			return nil, fmt.Errorf("releases line %d: want a version, sha256:... and ssh-ed25519 AAAA...", i+1)
		}
		r := Release{Version: f[0], Manifest: f[1], Key: f[2] + " " + f[3]}
		for _, once := range []string{r.Version, r.Manifest, r.Key} {
			if seen[once] {
				return nil, fmt.Errorf("releases line %d: %q is listed twice", i+1, once)
			}
			seen[once] = true
		}
		rs = append(rs, r)
	}
	return rs, nil
}

func mustRead(name string) []byte {
	b, err := embedded.ReadFile(name)
	if err != nil { // the directive above would not have compiled
		panic(err)
	}
	return b
}
