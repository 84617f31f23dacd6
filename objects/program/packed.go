package program

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"path"
	"strconv"
	"strings"
)

// packed judges files that hold other files: archives, and documents that can have macros.
func packed(ext string, data []byte) (Kind, string) {
	for _, a := range archives {
		if bytes.HasPrefix(tail(data, a.at), []byte(a.magic)) {
			return Archive, a.what + " can hold programs"
		}
	}
	switch {
	case bytes.HasPrefix(data, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")):
		if has(".msi .msp .mst", ext) {
			return Archive, "an installer can hold programs"
		}
		return Macro, "an OLE document can have macros"
	case bytes.HasPrefix(data, []byte("L\x00\x00\x00\x01\x14\x02\x00")):
		return Shortcut, "a Windows shortcut names a command"
	case bytes.HasPrefix(data, []byte("ITSF")):
		return Macro, "compiled help can run commands"
	case bytes.HasPrefix(data, []byte("PK\x03\x04")), zipAtEnd(data):
		return zipped(ext, data)
	case oldTar(data):
		return Archive, "a tar archive can hold programs"
	}
	return "", ""
}

var archives = []struct {
	at          int // a negative place counts from the end
	magic, what string
}{
	{257, "ustar", "a tar archive"},
	{0, "\x1f\x8b\x08", "a gzip archive"},
	{0, "\x1f\x9d", "a compressed file"},
	{0, "\x1f\xa0", "a compressed file"},
	{4, "1AY&SY", "a bzip2 archive"},
	{0, "\xfd7zXZ\x00", "an xz archive"},
	{0, "\x28\xb5\x2f\xfd", "a zstd archive"},
	{0, "\x04\x22\x4d\x18", "an lz4 archive"},
	{0, "LZIP", "an lzip archive"},
	{0, "7z\xbc\xaf\x27\x1c", "a 7z archive"},
	{0, "Rar!\x1a\x07", "a rar archive"},
	{0, "MSCF\x00\x00\x00\x00", "a cabinet"},
	{0, "ISc(", "an installer"},
	{0, "!<arch>\n", "an ar archive or deb package"},
	{0, "!<thin>\n", "an ar archive"},
	{0, "\xed\xab\xee\xdb", "an rpm package"},
	{0, "xar!", "a macOS package"},
	{0, "070701", "a cpio archive"},
	{0, "070702", "a cpio archive"},
	{0, "070707", "a cpio archive"},
	{0, "\xc7\x71", "a cpio archive"},
	{0, "Cr24", "a browser extension"},
	{0, "MSWIM\x00", "an image of Windows"},
	{0, "hsqs", "a file system"},
	{0, "sqsh", "a file system"},
	{0, "QFI\xfb", "an image of a disk"},
	{0, "KDMV", "an image of a disk"},
	{0, "vhdxfile", "an image of a disk"},
	{0x8001, "CD001", "an image of a disc"},
	{-512, "koly", "an image of a macOS disk"},
	{7, "**ACE**", "an ace archive"},
	{2, "-lh0-", "an lha archive"},
	{2, "-lh5-", "an lha archive"},
	{2, "-lh6-", "an lha archive"},
	{2, "-lh7-", "an lha archive"},
}

// tail returns the bytes from a place on, which counts from the end if it is negative.
func tail(data []byte, at int) []byte {
	if at < 0 {
		at += len(data)
	}
	if at < 0 || at > len(data) {
		return nil
	}
	return data[at:]
}

// zipAtEnd reports whether the file ends as a zip archive does. Readers look there, so an archive may
// stand behind any other bytes.
func zipAtEnd(data []byte) bool {
	end := data[max(0, len(data)-endOfZip-65535):]
	for {
		i := bytes.LastIndex(end, []byte("PK\x05\x06"))
		if i < 0 {
			return false
		}
		if rest := len(end) - i; rest >= endOfZip && int(binary.LittleEndian.Uint16(end[i+20:])) <= rest-endOfZip {
			return true
		}
		end = end[:i]
	}
}

const endOfZip = 22 // bytes of the last record of a zip archive, without its comment

// oldTar recognises a tar archive without its magic by the sum of its first header.
func oldTar(data []byte) bool {
	const header, at, width = 512, 148, 8
	if len(data) < header || data[0] == 0 {
		return false
	}
	want, err := strconv.ParseUint(strings.Trim(string(data[at:at+width]), " \x00"), 8, 32)
	sum := uint64(width * ' ')
	for i, c := range data[:header] {
		if i < at || i >= at+width {
			sum += uint64(c)
		}
	}
	return err == nil && sum == want
}

// zipped judges a zip archive. A document of an office program or a book is one too: it is no
// program if its list can be read and has nothing but the parts of a document without macros.
func zipped(ext string, data []byte) (Kind, string) {
	if bytes.Contains(data, []byte("vbaProject.bin")) {
		return Macro, "a document with macros (vbaProject.bin)"
	}
	names, ok := entries(data)
	for _, name := range names {
		if name == "meta-inf/manifest.mf" || path.Ext(name) == ".class" {
			return Bytecode, "compiled Java in a zip archive"
		}
	}
	if !ok || !has(documents, ext) {
		return Archive, "a zip archive can hold programs"
	}
	for _, name := range names {
		switch {
		case strings.HasPrefix(name, "xl/macrosheets/"), strings.HasPrefix(name, "basic/"), strings.HasPrefix(name, "scripts/"):
			return Macro, "a document with macros"
		case strings.Contains(name, "/embeddings/"), strings.Contains(name, "/activex/"):
			return Macro, "a document with embedded objects"
		case strings.Contains(name, "/printersettings/"), strings.HasSuffix(name, "/"), path.Ext(name) == "":
		case !has(parts, path.Ext(name)):
			return Macro, "a document with other files inside"
		}
	}
	return "", ""
}

// documents are the extensions of documents in a zip archive, and parts those of their files.
const (
	documents = ".docx .dotx .xlsx .xltx .pptx .potx .ppsx .vsdx .odt .ott .ods .ots .odp .otp .odg .epub"
	parts     = ".xml .rels .vml .png .jpg .jpeg .gif .tif .tiff .bmp .svg .wmf .emf .webp .ico .mp3 .mp4 .m4a .m4v .mov .wav " +
		".xhtml .html .htm .css .opf .ncx .smil .txt .rdf .odttf .ttf .otf .woff .woff2 .fntdata .thmx .xsl .dtd .ent"
)

// entries returns the names in a zip archive, in lower case; false if its list cannot be read.
func entries(data []byte) (names []string, ok bool) {
	if !fewEntries(data) {
		return nil, false
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, false
	}
	for _, f := range z.File {
		names = append(names, strings.ToLower(f.Name))
	}
	return names, true
}

// fewEntries reports whether the list of a zip archive is short enough to be read for a question:
// documents have some hundred entries.
func fewEntries(data []byte) bool {
	return bytes.Count(data, []byte("PK\x01\x02")) <= maxEntries
}

const maxEntries = 20000
