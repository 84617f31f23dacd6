package main_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHostileArchives: an archive that no honest packer makes, or that unpacks to too much,
// is refused as a whole by the program, and writes nothing, inside of the project or out.
func TestHostileArchives(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	skill := "---\nname: x\ndescription: y\n---\n"
	zipOf := func(all ...string) []byte {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for i := 0; i < len(all); i += 2 {
			f, _ := w.Create(all[i])
			f.Write([]byte(all[i+1]))
		}
		w.Close()
		return b.Bytes()
	}
	tarOf := func(all ...tar.Header) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		for _, head := range append([]tar.Header{{Name: "x/SKILL.md", Typeflag: tar.TypeReg, Size: int64(len(skill)), Mode: 0o644}}, all...) {
			w.WriteHeader(&head)
			if head.Size > 0 {
				w.Write([]byte(skill))
			}
		}
		w.Close()
		z.Close()
		return b.Bytes()
	}
	file := "x/SKILL.md"
	for _, c := range []struct {
		name   string
		data   []byte
		status int
	}{
		{"up.zip", zipOf(file, skill, "../planted", "x"), 19},
		{"absolute.zip", zipOf(file, skill, "/tmp/planted", "x"), 19},
		{"twice.zip", zipOf(file, skill, file, skill), 19},
		{"bomb.zip", zipOf(file, skill, "x/a", strings.Repeat("\x00", 7<<20), "x/b", strings.Repeat("\x00", 7<<20)), 20},
		{"deep.zip", zipOf(file, skill, "x/"+strings.Repeat("d/", 20)+"f", "x"), 19},
		{"link.tgz", tarOf(tar.Header{Name: "x/l", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}), 19},
		{"hard.tgz", tarOf(tar.Header{Name: "x/l", Typeflag: tar.TypeLink, Linkname: file}), 19},
		{"device.tgz", tarOf(tar.Header{Name: "x/d", Typeflag: tar.TypeChar}), 19},
		{"up.tar.gz", tarOf(tar.Header{Name: "../planted", Typeflag: tar.TypeReg, Size: int64(len(skill))}), 19},
		{"cut.zip", zipOf(file, skill)[:60], 19},
	} {
		path := filepath.Join(filepath.Dir(h.dir), c.name)
		if err := os.WriteFile(path, c.data, 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := h.command("add", path)
		if c.name == "deep.zip" || c.name == "link.tgz" { // its skill comes in without the one file
			cmd = h.command("add", path, "--dry-run")
		}
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != c.status {
			t.Errorf("%s: exit %d, want %d: %s", c.name, got, c.status, out)
		}
		if exists(filepath.Join(filepath.Dir(h.dir), "planted")) || exists(filepath.Join(h.dir, ".ai/bundles")) || exists("/tmp/planted") {
			t.Fatalf("%s: something was written: %s", c.name, out)
		}
	}
	// Two names that are one on some systems: the second one is named, and the skill comes in.
	twins := filepath.Join(filepath.Dir(h.dir), "case.zip")
	if err := os.WriteFile(twins, zipOf(file, skill, "x/notes.txt", "a", "x/Notes.txt", "b"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := h.command("add", twins, "--dry-run")
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 4 || !strings.Contains(string(out), "are one name on some systems") {
		t.Errorf("case.zip: %s", out)
	}
	good := filepath.Join(filepath.Dir(h.dir), "good.zip")
	if err := os.WriteFile(good, zipOf(file, skill), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := h.rye("add", good); !strings.Contains(out, "added knowledge:acme/x (unsigned)") {
		t.Errorf("good.zip: %s", out)
	}
}
