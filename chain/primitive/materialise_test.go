package primitive

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/rye-os/rye/fault"
)

func TestMaterialise(t *testing.T) {
	dir := filepath.Join(temp(t), "cache", "run")
	r, err := Materialise(dir, []File{
		{Path: "tools/acme/hello.sh", Data: []byte("#!/bin/sh\n"), Exec: true},
		{Path: "tools/acme/lib/util.py", Data: []byte("x = 1\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{"tools/acme/hello.sh": 0o555, "tools/acme/lib/util.py": 0o444, "tools/acme": 0o555} {
		info, err := os.Stat(filepath.Join(r.Files, path))
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", path, info.Mode().Perm(), want)
		}
	}
	// A tool may leave anything in its temporary directory.
	os.MkdirAll(filepath.Join(r.Temp, "a/b"), 0o700)
	os.WriteFile(filepath.Join(r.Temp, "a/b/c"), nil, 0o400)
	os.Chmod(filepath.Join(r.Temp, "a/b"), 0)
	if n, err := Sweep(dir); n != 0 || err != nil {
		t.Errorf("Sweep took %d living runs, %v", n, err)
	}
	if err := r.Remove(); err != nil {
		t.Error(err)
	}
	if err := r.Remove(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestMaterialiseRefusesPaths(t *testing.T) {
	dir := temp(t)
	for _, files := range [][]File{
		{{Path: "../x"}}, {{Path: "/x"}}, {{Path: "a/../../x"}}, {{Path: ""}}, {{Path: "."}}, {{Path: `a\b`}}, {{Path: "a//b"}},
	} {
		if _, err := Materialise(dir, files); !fault.Is(err, fault.Malformed) {
			t.Errorf("Materialise(%q) = %v, want malformed", files[0].Path, err)
		}
	}
	if _, err := Materialise(dir, []File{{Path: "x"}, {Path: "x"}}); err == nil {
		t.Error("two files of one path")
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestSweepTakesWhatTheDeadLeft(t *testing.T) {
	if dir := os.Getenv("RYE_TEST_SWEEP"); dir != "" {
		if _, err := Materialise(dir, []File{{Path: "a/b", Data: []byte("x")}}); err != nil {
			t.Fatal(err)
		}
		os.Exit(0) // without Remove, as a killed process would
	}
	dir := temp(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run", "^TestSweepTakesWhatTheDeadLeft$")
	cmd.Env = append(os.Environ(), "RYE_TEST_SWEEP="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	mine, err := Materialise(dir, []File{{Path: "a/b", Data: []byte("x")}})
	if err != nil {
		t.Fatal(err)
	}
	if n := InProgress(dir); n != 1 {
		t.Errorf("%d runs in progress beside a dead one, want 1", n)
	}
	if err := mine.Remove(); err != nil {
		t.Fatal(err)
	}
	os.Mkdir(filepath.Join(dir, "somebody-else"), 0o700)
	os.Mkdir(filepath.Join(dir, runPrefix+"young"), 0o700) // being made at this moment
	if n, err := Sweep(dir); n != 1 || err != nil {
		t.Errorf("Sweep = %d, %v, want 1", n, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("left: %v", left)
	}
	if n, err := Sweep(filepath.Join(dir, "missing")); n != 0 || err != nil {
		t.Errorf("Sweep of nothing = %d, %v", n, err)
	}
}
