package network

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/internal/place"
)

// Bounds of certificates.
const (
	maxBundle   = 4 << 20 // bytes of a file, and of a copy
	maxBlocks   = 2000
	maxCertDirs = 10
	maxCertsIn  = 500 // files in a directory
)

const noCertificates = "has no certificate"

// certificates reads a file or directories of certificates. What tools can read anyway, because it
// belongs to the system, stays where it is. Of the rest they get a copy. The certificates of a
// directory become one file, since programs read both.
func (r *reader) certificates(k kind, value string, s *Setting) (why string) {
	paths := []string{value}
	if k == directories {
		if paths = filepath.SplitList(value); len(paths) > maxCertDirs {
			return tooLong
		}
	}
	var copied bytes.Buffer
	system := 0
	for _, p := range paths {
		p, real, why := r.own(p)
		switch {
		case why != "":
			return why
		case ofSystem(p, real):
			system++
			continue
		case k == directories:
			why = r.blocksIn(real, &copied)
		default:
			why = blocksOf(real, &copied)
		}
		if why != "" {
			return why
		}
	}
	s.Value = value
	switch {
	case system == len(paths):
	case copied.Len() == 0:
		return noCertificates
	case k == directories:
		r.joined(s, copied.Bytes())
	default:
		s.pass(s.Name, "ca.pem", copied.String())
	}
	return ""
}

// joined passes the certificates of SSL_CERT_DIR in SSL_CERT_FILE, with those that it has already.
func (r *reader) joined(s *Setting, certs []byte) {
	for _, other := range r.found.Settings {
		if other.Name != "SSL_CERT_FILE" {
			continue
		}
		for _, f := range other.Files {
			certs = append(bytes.Clone(f.Data), certs...)
		}
		if len(other.Files) == 0 {
			var more bytes.Buffer
			if blocksOf(other.Value, &more) == "" {
				certs = append(more.Bytes(), certs...)
			}
		}
	}
	s.pass("SSL_CERT_FILE", "ca.pem", string(certs))
}

// pass gives a setting a file, whose name depends on the content. The variable has its path, or of a
// hidden file its directory.
func (s *Setting) pass(variable, name, text string) {
	sum := sha256.Sum256([]byte(text))
	dir := "network/" + hex.EncodeToString(sum[:16])
	f := primitive.File{Path: dir + "/" + name, Data: []byte(text)}
	s.Files, s.Paths = []primitive.File{f}, map[string]string{variable: f.Path}
	if strings.HasPrefix(name, ".") {
		s.Paths[variable] = dir
	}
}

// ofSystem reports whether a path leads to a file of the system, which tools can read.
func ofSystem(path, real string) bool {
	if runtime.GOOS != "linux" || !inSystem(path) || !inSystem(real) {
		return false
	}
	st, err := os.Stat(real)
	return err == nil && st.Mode().Perm()&0o004 != 0
}

func inSystem(path string) bool {
	return strings.HasPrefix(path, testOnlyEtc+"/") || strings.HasPrefix(path, "/usr/")
}

// blocksOf appends the certificates of a file, and nothing else of it: no key, no comment.
func blocksOf(path string, to *bytes.Buffer) (why string) {
	text, err := place.Read(path, maxBundle)
	if err != nil {
		return unreadable(err)
	}
	for n := 0; n < maxBlocks; n++ {
		var b *pem.Block
		if b, text = pem.Decode(text); b == nil {
			break
		}
		if b.Type != "CERTIFICATE" {
			continue
		}
		if _, err := x509.ParseCertificate(b.Bytes); err != nil {
			continue
		}
		if _ = pem.Encode(to, &pem.Block{Type: b.Type, Bytes: b.Bytes}); to.Len() > maxBundle {
			return tooLong
		}
	}
	return ""
}

// blocksIn appends the certificates of the files in a directory.
func (r *reader) blocksIn(dir string, to *bytes.Buffer) (why string) {
	d, err := os.Open(dir)
	if err != nil {
		return unreadable(err)
	}
	defer d.Close()
	names, _ := d.Readdirnames(maxCertsIn + 1)
	if len(names) > maxCertsIn {
		return tooLong
	}
	slices.Sort(names)
	for _, name := range names {
		if _, real, why := r.own(filepath.Join(dir, name)); why == "" && blocksOf(real, to) == tooLong {
			return tooLong
		}
	}
	return ""
}
