package space

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// syncs notes what is synced, in order, and whether the file at p was there by then.
func syncs(t *testing.T, dir, p string) func() []string {
	if runtime.GOOS == "windows" {
		t.Skip("folders cannot be synced there")
	}
	var mu sync.Mutex
	var all []string
	testOnlySynced = func(what string) {
		mu.Lock()
		defer mu.Unlock()
		if strings.Contains(what, TempPrefix) {
			what = filepath.ToSlash(filepath.Dir(what)) + "/bytes"
		}
		if _, err := os.Lstat(filepath.Join(dir, p)); err == nil {
			what += " with it"
		}
		all = append(all, what)
	}
	t.Cleanup(func() { testOnlySynced = nil })
	return func() []string { got := all; all = nil; return got }
}

// A working file has its name when its bytes are on the disk, and Write returns when its
// name is there, and the names of the folders that had to be made.
func TestWriteIsDurable(t *testing.T) {
	const p = "tools/acme/greet.sh"
	l := &Layer{Space: objects.Project, Dir: t.TempDir()}
	defer l.Close()
	got := syncs(t, l.Dir, p)
	for _, tc := range []struct {
		wait Wait
		want []string
	}{
		{WaitAll, []string{".", "tools", "tools/acme/bytes", "tools/acme with it"}},
		{WaitAll, []string{"tools/acme/bytes with it", "tools/acme with it"}},
		{WaitFile, []string{"tools/acme/bytes with it"}},
		{WaitNone, nil},
	} {
		if err := l.Write(p, []byte("#!/bin/sh\n"), tc.wait); err != nil {
			t.Fatal(err)
		}
		if s := got(); !slices.Equal(s, tc.want) {
			t.Errorf("Write(%d) synced %q, want %q", tc.wait, s, tc.want)
		}
	}
	if err := l.SyncNames(store.Change{Path: p}, store.Change{Path: "tools/acme/other.sh"}); err != nil {
		t.Fatal(err)
	}
	if s := got(); !slices.Equal(s, []string{"tools/acme with it"}) {
		t.Errorf("SyncNames synced %q", s)
	}
}

// removeFiles removes files, which may be gone already, durably.
func removeFiles(l *Layer, c store.Change) error {
	if err := l.Remove(c.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return l.SyncNames(c)
}

// What was removed is gone on the disk, too, whatever became of its folder.
func TestRemoveIsDurable(t *testing.T) {
	const p = "tools/acme/greet.sh"
	l := &Layer{Space: objects.Project, Dir: t.TempDir()}
	defer l.Close()
	if err := l.Write(p, []byte("#!/bin/sh\n"), WaitNone); err != nil {
		t.Fatal(err)
	}
	got := syncs(t, l.Dir, p)
	if err := removeFiles(l, store.Change{Path: p}); err != nil {
		t.Fatal(err)
	}
	if s := got(); !slices.Equal(s, []string{"tools/acme"}) {
		t.Errorf("removeFiles synced %q", s)
	}
	l.Prune("tools")
	if err := removeFiles(l, store.Change{Path: p}); err != nil { // gone already
		t.Fatal(err)
	}
	if s := got(); !slices.Equal(s, []string{"."}) {
		t.Errorf("removeFiles where there is no folder synced %q", s)
	}
	if err := os.WriteFile(filepath.Join(l.Dir, "tools"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := removeFiles(l, store.Change{Path: p}); err != nil || !slices.Equal(got(), []string{"."}) {
		t.Errorf("removeFiles where a file stands for the folder = %v", err)
	}
	if err := os.Remove(filepath.Join(l.Dir, "tools")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(l.Dir, "tools")); err != nil {
		t.Fatal(err)
	}
	if err := removeFiles(l, store.Change{Path: p}); err == nil || len(got()) > 0 {
		t.Errorf("removeFiles behind a link = %v", err)
	}
}
