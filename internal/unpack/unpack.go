// Package unpack reads archives from outside, inside limits: zip, tar and tar.gz, whole
// and in memory. It writes nothing. An archive with a path that leads out, a hard link, a
// device or one name twice is refused as a whole (fault.Malformed): no honest packer makes
// these. A symbolic link is handed over as its text, and never followed here. Too many files, too
// many bytes, too much depth or too high a ratio is fault.Limit.
package unpack

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Limits of one archive.
const (
	MaxArchive = 64 << 20  // bytes, packed
	MaxTotal   = 256 << 20 // bytes, unpacked
	MaxFile    = 64 << 20  // bytes of one file
	MaxEntries = 20000     // files and directories
	MaxDepth   = 64        // names in a path
	maxLink    = 4096      // bytes of a link's text
	maxRatio   = 200       // unpacked to packed, beyond the first megabyte
	freeRatio  = 1 << 20
)

// File is one regular file of an archive, or a symbolic link. Path is a clean slash path inside the
// archive.
type File struct {
	Path       string
	Data       []byte
	Executable bool   // by the archive's mode; where it has none, because the file begins with "#!"
	Link       string // the text of a symbolic link; "" for a file
}

// Is reports whether data begins like an archive that Read accepts.
func Is(data []byte) bool { return isZip(data) || isGzip(data) || isTar(data) }

func isZip(b []byte) bool {
	return bytes.HasPrefix(b, []byte("PK\x03\x04")) || bytes.HasPrefix(b, []byte("PK\x05\x06"))
}
func isGzip(b []byte) bool { return bytes.HasPrefix(b, []byte{0x1f, 0x8b}) }
func isTar(b []byte) bool  { return len(b) > 262 && string(b[257:262]) == "ustar" }

// Limits are those of one Read.
type Limits struct {
	Archive int   // bytes, packed
	Total   int64 // bytes, unpacked
	Entries int   // files and directories
}

// Read returns the files of an archive, in its order.
func Read(data []byte) ([]File, error) {
	return ReadWithin(data, Limits{Archive: MaxArchive, Total: MaxTotal, Entries: MaxEntries})
}

// ReadWithin is Read within narrower limits.
func ReadWithin(data []byte, l Limits) ([]File, error) {
	if len(data) > l.Archive {
		return nil, fault.New(fault.Limit, "archive of %d bytes: at most %d are read", len(data), l.Archive)
	}
	b := &box{limits: l, packed: int64(len(data)), seen: map[string]string{}}
	var err error
	switch {
	case isZip(data):
		err = readZip(b, data)
	case isGzip(data):
		err = b.readGzip(data)
	case isTar(data):
		err = readTar(b, bytes.NewReader(data))
	default:
		err = fault.New(fault.Malformed, "neither zip nor tar nor tar.gz")
	}
	if err != nil {
		return nil, err
	}
	return b.files, nil
}

// box holds the files unpacked from an archive so far.
type box struct {
	limits  Limits
	packed  int64 // bytes of the archive
	total   int64 // unpacked bytes
	entries int
	seen    map[string]string // by path: the path, with a slash after a directory
	files   []File
}

func (b *box) readGzip(data []byte) error {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return fault.New(fault.Malformed, "archive: %w", err)
	}
	// take checks the sizes in headers; this bounds the stream as a whole.
	return readTar(b, &bounded{r: z, left: b.limits.Total + int64(b.limits.Entries)*1024, packed: b.packed, limit: b.limits.Total})
}

// bounded stops a stream that unpacks to too many bytes, including padding and headers.
type bounded struct {
	r            io.Reader
	left, packed int64
	limit        int64 // as a message names it
	read         int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.read += int64(n); b.read > b.left || tooDense(b.read, b.packed) {
		return 0, fault.New(fault.Limit, "archive: it unpacks to more than %d bytes or %d times its size", b.limit, maxRatio)
	}
	return n, err
}

func tooDense(unpacked, packed int64) bool {
	return unpacked > freeRatio && unpacked/max(packed, 1) > maxRatio
}

func readTar(b *box, r io.Reader) error {
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return damaged(err)
		}
		switch h.Typeflag {
		case tar.TypeXGlobalHeader:
			continue
		case tar.TypeDir:
			err = b.enter(h.Name, true)
		case tar.TypeReg:
			err = b.take(h.Name, h.Size, t, func([]byte) bool { return h.Mode&0o111 != 0 })
		case tar.TypeSymlink:
			err = b.link(h.Name, h.Linkname)
		default:
			err = fault.New(fault.Malformed, "archive: %q is a hard link or a device; only files, directories and symbolic links are taken", words.Brief(h.Name))
		}
		if err != nil {
			return err
		}
	}
}

func readZip(b *box, data []byte) error {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return fault.New(fault.Malformed, "archive: %w", err)
	}
	for _, f := range z.File {
		if err := zipEntry(b, f); err != nil {
			return err
		}
	}
	return nil
}

func zipEntry(b *box, f *zip.File) error {
	mode := f.Mode()
	switch {
	case strings.HasSuffix(f.Name, "/") || mode.IsDir():
		return b.enter(f.Name, true)
	case !mode.IsRegular() && mode.Type() != fs.ModeSymlink:
		return fault.New(fault.Malformed, "archive: %q is a device; only files, directories and symbolic links are taken", words.Brief(f.Name))
	case f.Flags&1 != 0:
		return fault.New(fault.Malformed, "archive: %q is encrypted", words.Brief(f.Name))
	}
	r, err := f.Open()
	if err != nil {
		return damaged(err)
	}
	defer r.Close()
	if mode.Type() == fs.ModeSymlink {
		text, err := io.ReadAll(io.LimitReader(r, maxLink+1))
		if err != nil {
			return damaged(err)
		}
		return b.link(f.Name, string(text))
	}
	executable := func(data []byte) bool { return mode&0o111 != 0 }
	if made := f.CreatorVersion >> 8; made != 3 && made != 19 { // neither Unix nor macOS: no modes
		executable = func(data []byte) bool { return bytes.HasPrefix(data, []byte("#!")) }
	}
	return b.take(f.Name, int64(min(f.UncompressedSize64, 1<<62)), r, executable)
}

// link takes a symbolic link.
func (b *box) link(name, text string) error {
	if err := b.enter(name, false); err != nil {
		return err
	}
	if text == "" || len(text) > maxLink {
		return fault.New(fault.Malformed, "archive: the link %q leads to no path", words.Brief(name))
	}
	b.files = append(b.files, File{Path: path.Clean(name), Link: text})
	return nil
}

// damaged returns the error for an archive that cannot be read further.
func damaged(err error) error {
	if fault.CodeOf(err) != fault.Failed {
		return err
	}
	return fault.New(fault.Malformed, "archive: %w", err)
}

// take reads one file. It uses the stated size only to refuse a file early.
func (b *box) take(name string, size int64, r io.Reader, executable func([]byte) bool) error {
	if err := b.enter(name, false); err != nil {
		return err
	}
	most := min(MaxFile, b.limits.Total)
	if size > most {
		return fault.New(fault.Limit, "archive: %q has more than %d bytes", words.Brief(name), most)
	}
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return damaged(err)
	}
	if int64(len(data)) > most {
		return fault.New(fault.Limit, "archive: %q has more than %d bytes", words.Brief(name), most)
	}
	if b.total += int64(len(data)); b.total > b.limits.Total || tooDense(b.total, b.packed) {
		return fault.New(fault.Limit, "archive: it unpacks to more than %d bytes or %d times its size", b.limits.Total, maxRatio)
	}
	b.files = append(b.files, File{Path: path.Clean(name), Data: data, Executable: executable(data)})
	return nil
}

// enter checks the path of an entry, and that no other has it.
func (b *box) enter(name string, dir bool) error {
	if b.entries++; b.entries > b.limits.Entries {
		return fault.New(fault.Limit, "archive: more than %d entries", b.limits.Entries)
	}
	if err := checkPath(name); err != nil {
		return err
	}
	p := path.Clean(name)
	if p == "." {
		return nil
	}
	if strings.Count(p, "/") >= MaxDepth {
		return fault.New(fault.Limit, "archive: %q is deeper than %d names", words.Brief(name), MaxDepth)
	}
	return b.claim(p, dir)
}

func checkPath(name string) error {
	bad := func(why string) error {
		return fault.New(fault.Malformed, "archive: path %q %s", words.Brief(name), why)
	}
	switch {
	case name == "" || strings.ContainsRune(name, 0):
		return bad("is no path")
	case strings.HasPrefix(name, "/") || len(name) > 1 && name[1] == ':':
		return bad("is absolute")
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(name, "/"), "/") {
		if part == ".." {
			return bad("leads out of it")
		}
	}
	return nil
}

// claim notes a path and the directories above it. It refuses two files with one path, and a file
// with the path of a directory. Who writes the files decides about names that differ in case.
func (b *box) claim(p string, dir bool) error {
	for end := len(p); end > 0; end = strings.LastIndexByte(p[:end], '/') {
		what := p[:end]
		if dir || end < len(p) {
			what += "/"
		}
		key := p[:end]
		old, there := b.seen[key]
		if there && (old != what || end == len(p) && !dir) {
			return fault.New(fault.Malformed, "archive: %q and %q are one name", words.Brief(old), words.Brief(what))
		}
		if there && end < len(p) {
			return nil
		}
		b.seen[key] = what
	}
	return nil
}
