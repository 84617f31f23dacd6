package unpack_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/unpack"
)

// entry is what an archive is made of here; mode 0 is a regular file.
type entry struct {
	name, data string
	mode       fs.FileMode
}

var forms = map[string]func(...entry) []byte{
	"zip": zipOf,
	"tar": tarOf,
	"tgz": func(all ...entry) []byte { return packed(tarOf(all...)) },
}

func zipOf(all ...entry) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range all {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(0o644 | e.mode)
		if e.mode.IsDir() && !strings.HasSuffix(h.Name, "/") {
			h.Name += "/"
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			panic(err)
		}
		f.Write([]byte(e.data))
	}
	w.Close()
	return b.Bytes()
}

func tarOf(all ...entry) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range all {
		h := &tar.Header{Name: e.name, Typeflag: tar.TypeReg, Mode: 0o644 | int64(e.mode.Perm()), Size: int64(len(e.data)), Format: tar.FormatPAX}
		switch e.mode.Type() {
		case fs.ModeDir:
			h.Typeflag, h.Size = tar.TypeDir, 0
		case fs.ModeSymlink:
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, e.data, 0
		case fs.ModeDevice:
			h.Typeflag, h.Size = tar.TypeBlock, 0
		case fs.ModeNamedPipe:
			h.Typeflag, h.Size = tar.TypeFifo, 0
		case fs.ModeIrregular:
			h.Typeflag, h.Linkname, h.Size = tar.TypeLink, e.data, 0
		}
		if err := w.WriteHeader(h); err != nil {
			panic(err)
		}
		if h.Typeflag == tar.TypeReg {
			w.Write([]byte(e.data))
		}
	}
	w.Close()
	return b.Bytes()
}

func packed(raw []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	w.Write(raw)
	w.Close()
	return b.Bytes()
}

func TestRead(t *testing.T) {
	for form, pack := range forms {
		raw := pack(entry{"pdf/", "", fs.ModeDir}, entry{"pdf/SKILL.md", "a", 0}, entry{"pdf/scripts/x.sh", "b", 0}, entry{"./pdf/c", "", 0})
		if !unpack.Is(raw) {
			t.Errorf("%s: not seen to be an archive", form)
		}
		files, err := unpack.Read(raw)
		if err != nil || len(files) != 3 || files[0].Path != "pdf/SKILL.md" || string(files[1].Data) != "b" || files[2].Path != "pdf/c" {
			t.Errorf("%s: %v, %v", form, files, err)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	deep := strings.Repeat("d/", unpack.MaxDepth) + "x"
	for _, c := range []struct {
		name string
		all  []entry
		code fault.Code
	}{
		{"up", []entry{{"../x", "a", 0}}, fault.Malformed},
		{"up, inside", []entry{{"a/../../x", "a", 0}}, fault.Malformed},
		{"up, and down again", []entry{{"a/../x", "a", 0}}, fault.Malformed},
		{"absolute", []entry{{"/etc/x", "a", 0}}, fault.Malformed},
		{"a drive", []entry{{"C:/x", "a", 0}}, fault.Malformed},
		{"a link to nothing", []entry{{"x", "", fs.ModeSymlink}}, fault.Malformed},
		{"a link that is too long", []entry{{"x", strings.Repeat("a", 5000), fs.ModeSymlink}}, fault.Malformed},
		{"a link, then a file through it", []entry{{"x", "/tmp", fs.ModeSymlink}, {"x/y", "a", 0}}, fault.Malformed},
		{"a device", []entry{{"x", "", fs.ModeDevice}}, fault.Malformed},
		{"a pipe", []entry{{"x", "", fs.ModeNamedPipe}}, fault.Malformed},
		{"one name twice", []entry{{"x", "a", 0}, {"x", "b", 0}}, fault.Malformed},
		{"one name twice, spelled otherwise", []entry{{"x", "a", 0}, {"./x", "b", 0}}, fault.Malformed},
		{"a file and a folder", []entry{{"x", "a", 0}, {"x/y", "b", 0}}, fault.Malformed},
		{"a folder and a file", []entry{{"x/y", "a", 0}, {"x", "b", 0}}, fault.Malformed},
		{"too deep", []entry{{deep, "a", 0}}, fault.Limit},
		{"too large", []entry{{"x", strings.Repeat("\x00", unpack.MaxFile+1), 0}}, fault.Limit},
		{"too dense", []entry{{"x", strings.Repeat("\x00", 4<<20), 0}, {"y", strings.Repeat("\x00", 4<<20), 0}}, fault.Limit},
	} {
		for form, pack := range forms {
			if form == "tar" && c.name == "too dense" {
				continue // it is as large as what it holds
			}
			if form != "tar" && c.name == "too large" {
				continue // packing takes seconds, and the bound is the same
			}
			files, err := unpack.Read(pack(c.all...))
			if fault.CodeOf(err) != c.code || files != nil {
				t.Errorf("%s, %s: %v, want %v", c.name, form, err, c.code)
			}
		}
	}
}

func TestReadRefusesHardLinks(t *testing.T) {
	if _, err := unpack.Read(tarOf(entry{"x", "/etc/passwd", fs.ModeIrregular})); fault.CodeOf(err) != fault.Malformed {
		t.Errorf("a hard link: %v", err)
	}
}

func TestReadRefusesTooMany(t *testing.T) {
	var all []entry
	for i := range unpack.MaxEntries + 1 {
		all = append(all, entry{fmt.Sprintf("d%d/", i), "", fs.ModeDir})
	}
	for form, pack := range forms {
		if _, err := unpack.Read(pack(all...)); fault.CodeOf(err) != fault.Limit {
			t.Errorf("%s: %v", form, err)
		}
	}
}

// TestReadRefusesBrokenArchives: what ends early, or is none, gives no files.
func TestReadRefusesBrokenArchives(t *testing.T) {
	for form, pack := range forms {
		raw := pack(entry{"a", strings.Repeat("text ", 1000), 0}, entry{"b", "b", 0})
		for _, n := range []int{20, len(raw) / 2} {
			if files, err := unpack.Read(raw[:n]); err == nil || files != nil {
				t.Errorf("%s cut at %d: %d files, %v", form, n, len(files), err)
			}
		}
	}
	if _, err := unpack.Read([]byte("no archive")); fault.CodeOf(err) != fault.Malformed {
		t.Errorf("text: %v", err)
	}
	if _, err := unpack.Read(make([]byte, unpack.MaxArchive+1)); fault.CodeOf(err) != fault.Limit {
		t.Errorf("too much: %v", err)
	}
}

// FuzzRead: whatever comes, paths stay inside, are one each, and fit.
func FuzzRead(f *testing.F) {
	for _, pack := range forms {
		f.Add(pack(entry{"a/b", "c", 0}))
		f.Add(pack(entry{"../b", "c", 0}))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		files, err := unpack.Read(raw)
		if err != nil {
			if files != nil {
				t.Fatal("files with an error")
			}
			return
		}
		seen := map[string]bool{}
		for _, file := range files {
			if !fs.ValidPath(file.Path) || seen[strings.ToLower(file.Path)] || len(file.Data) > unpack.MaxFile {
				t.Fatalf("%q", file.Path)
			}
			seen[strings.ToLower(file.Path)] = true
		}
	})
}

// TestReadModesAndLinks: the executable bit is the archive's, and a link is its text.
func TestReadModesAndLinks(t *testing.T) {
	for form, pack := range forms {
		files, err := unpack.Read(pack(entry{"x", "#!/bin/sh\n", 0}, entry{"X", "", 0o111}, entry{"l", "../../etc/passwd", fs.ModeSymlink}))
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		got := fmt.Sprintf("%v %v %q", files[0].Executable, files[1].Executable, files[2].Link)
		if want := `false true "../../etc/passwd"`; got != want {
			t.Errorf("%s: %s, want %s", form, got, want)
		}
	}
}

// TestReadModesOfDOS: a zip without modes marks a script by its first line.
func TestReadModesOfDOS(t *testing.T) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range []entry{{"x", "#!/bin/sh\n", 0}, {"y", "text", 0}} {
		f, err := w.CreateHeader(&zip.FileHeader{Name: e.name})
		if err != nil {
			t.Fatal(err)
		}
		f.Write([]byte(e.data))
	}
	w.Close()
	files, err := unpack.Read(b.Bytes())
	if err != nil || len(files) != 2 || !files[0].Executable || files[1].Executable {
		t.Errorf("%v, %v, want the first one executable", files, err)
	}
}
