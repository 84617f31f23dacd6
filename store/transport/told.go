package transport

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	"github.com/rye-os/rye/internal/place"
)

// In version 2 over HTTP, a host's advertisement holds its capabilities and nothing about its
// repository. It is cached for the next process, which can then send its real request first.
// The cache is a hint: if a request based on it fails, it is dropped and the host is asked
// again.

// toldMax bounds the cached bytes of one host.
const toldMax = 64 << 10

// toldPath returns the cache file of a repository. It returns "" without a cache, and after a
// redirect to another host, because the host chooses the target of a redirect each time.
func (d *httpDialer) toldPath() string {
	if d.r.o.Cache == "" || d.away {
		return ""
	}
	sum := sha256.Sum256([]byte(d.base))
	return filepath.Join(d.r.o.Cache, hex.EncodeToString(sum[:16])+".v2")
}

// recall returns the advertisement that an earlier process cached; nil for none.
func (d *httpDialer) recall() []byte {
	path := d.toldPath()
	if path == "" {
		return nil
	}
	raw, err := place.Read(path, toldMax)
	if err != nil || !bytes.HasPrefix(raw, []byte("000eversion 2\n")) || !bytes.HasSuffix(raw, []byte("0000")) {
		return nil
	}
	return raw
}

// keep caches the advertisement. If that fails, the next process asks again.
func (d *httpDialer) keep(told []byte) {
	if path := d.toldPath(); path != "" && !bytes.Equal(told, d.recall()) {
		_ = place.Cache(path, told, 0o600)
	}
}

// forget drops a cached advertisement, and reports whether there was one.
func (d *httpDialer) forget() bool {
	if !d.told {
		return false
	}
	d.known, d.told = nil, false
	if path := d.toldPath(); path != "" {
		os.Remove(path)
	}
	return true
}
