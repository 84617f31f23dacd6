package store

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
)

// A cache is a repository that may be deleted at any time, so nothing that is written to it
// waits for the disk: that is most of the time of a small change. A process that is killed
// loses nothing by it. A machine that goes down may leave files cut off or full of zeros, so a
// cache notes under which run of the machine it was last found sound; under another one it is
// looked through before it is believed. Where the system does not tell its runs apart, a cache
// is written like any repository.

// bootName is the file that holds the run of the machine.
const bootName = "rye.boot"

// InitCache is Init of a cache.
func InitCache(dir, head string) (*Repo, error) {
	run := bootID()
	if err := initAt(dir, head, SHA1, waiting{not: run != ""}); err != nil {
		return nil, err
	}
	if err := noteBoot(dir, run); err != nil {
		return nil, err
	}
	return OpenCache(context.Background(), dir)
}

// OpenCache is Open of a cache. One that was damaged when the machine went down is an error of
// code Integrity: it is to be deleted.
func OpenCache(ctx context.Context, dir string) (*Repo, error) {
	r, err := Open(dir)
	if fault.Is(err, fault.Malformed) {
		err = fault.New(fault.Integrity, "%w", err) // rye wrote a sound one: this is damage
	}
	if err != nil {
		return nil, err
	}
	run := bootID()
	if was, _ := place.Read(filepath.Join(dir, bootName), 1<<10); run == "" || string(was) != run {
		if err = sound(ctx, r); err == nil {
			err = noteBoot(dir, run)
		}
		if err != nil {
			r.Close()
			return nil, fault.Wrap(err, "open cache %s", dir)
		}
	}
	r.disk.wait.not = run != ""
	return r, nil
}

func noteBoot(dir, run string) error {
	if run == "" {
		return nil
	}
	return place.Cache(filepath.Join(dir, bootName), []byte(run), permFile)
}

// sound reads every file of a repository. What lost its end, or its content, is an Integrity
// error.
func sound(ctx context.Context, r *Repo) error {
	torn := func(what string, why error) error {
		return fault.New(fault.Integrity, "%s is damaged: %w", what, why)
	}
	if _, err := r.Head(); err != nil {
		return torn("HEAD", err)
	}
	if _, err := r.Refs("refs/"); err != nil {
		return torn("a ref", err)
	}
	packs, err := os.ReadDir(filepath.Join(r.disk.dir, "pack"))
	if err != nil && !isMissing(err) {
		return err
	}
	for _, f := range packs {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if ext := filepath.Ext(f.Name()); ext != ".pack" && ext != ".idx" || strings.HasPrefix(f.Name(), ".") {
			continue
		}
		if err := sealed(filepath.Join(r.disk.dir, "pack", f.Name()), r.format); err != nil && !isMissing(err) {
			return torn(f.Name(), err)
		}
	}
	loose, err := r.disk.looseIDs()
	if err != nil {
		return err
	}
	for _, id := range loose {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if _, _, err := r.disk.loadLoose(id, DefaultLimits.Object); err != nil && !isMissing(err) {
			return torn("object "+id.String(), err)
		}
	}
	return nil
}

// sealed reports whether a pack, or its index, ends with the checksum of what is before.
func sealed(path string, f Format) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	size := info.Size() - int64(f.size())
	if size <= 0 {
		return io.ErrUnexpectedEOF
	}
	sum, h := make([]byte, f.size()), f.new()
	if _, err := io.CopyN(h, file, size); err != nil {
		return err
	}
	if _, err := io.ReadFull(file, sum); err != nil {
		return err
	}
	if !bytes.Equal(h.Sum(nil), sum) {
		return fault.New(fault.Integrity, "its checksum does not match")
	}
	return nil
}
