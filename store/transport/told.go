package transport

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	"github.com/rye-os/rye/internal/place"
)

// What a host says first over HTTP in version 2 is what it can do, and nothing about its
// repository. It is kept from one process to the next: so the first request can be the
// question itself, and a question is one request. It is a hint. Where anything fails that was
// asked by it, it is forgotten and the host is asked anew.

// toldMax bounds what is kept of one host, in bytes.
const toldMax = 64 << 10

// toldPath is the file of a repository; "" where nothing is kept: also for one that was
// redirected, for where a redirect leads is the host's to say each time.
func (d *httpDialer) toldPath() string {
	if d.r.o.Cache == "" || d.away {
		return ""
	}
	sum := sha256.Sum256([]byte(d.base))
	return filepath.Join(d.r.o.Cache, hex.EncodeToString(sum[:16])+".v2")
}

// recall returns what the host told an earlier process, nil for nothing.
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

// keep keeps what the host told. What cannot be kept is asked again.
func (d *httpDialer) keep(told []byte) {
	if path := d.toldPath(); path != "" && !bytes.Equal(told, d.recall()) {
		_ = place.Cache(path, told, 0o600)
	}
}

// forget drops what an earlier process was told, and reports whether there was something.
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
