package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
)

// A cache is a repository that may be deleted at any time. So no write to it waits for the
// disk; such waits are most of the time of a small change. A killed process loses nothing by
// this. A machine that goes down may leave files cut off or full of zeros. So a cache notes
// the run of the machine under which it was last found intact. Under another run all of it is
// checked before use. Where the system does not identify its runs, a cache is written like any
// repository.

// bootName is the file that holds the run of the machine, a bootID.
const bootName = "rye.boot"

// InitCache is Init of a cache.
func InitCache(dir, head string) (*Repo, error) {
	run := bootID()
	if err := initAt(dir, head, SHA1, waiting{not: run != ""}); err != nil {
		return nil, err
	}
	r, err := Open(dir)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(r.noteBoot(run), r.Close()); err != nil {
		return nil, err
	}
	return OpenCache(context.Background(), dir)
}

// OpenCache is Open of a cache. For a cache that was damaged when the machine went down, the
// error has the code Integrity: delete that cache.
func OpenCache(ctx context.Context, dir string) (*Repo, error) {
	r, err := Open(dir)
	if fault.Is(err, fault.Malformed) {
		err = fault.New(fault.Integrity, "%w", err) // rye wrote a valid one, so this is damage
	}
	if err != nil {
		return nil, err
	}
	run := bootID()
	if was, _ := r.files.read(bootName, 1<<10); run == "" || string(was) != run {
		if err = r.sound(ctx); err == nil {
			err = r.noteBoot(run)
		}
		if err != nil {
			r.Close()
			return nil, fault.Wrap(err, "open cache %s", dir)
		}
	}
	r.disk.wait.not = run != ""
	return r, nil
}

// RefillCache creates the directories of a cache again that were removed because they were
// empty.
func RefillCache(dir string) error {
	f, err := openFiles(dir)
	if err != nil {
		return err
	}
	defer f.close()
	if uid, ok := f.owner(); ok && !place.IsUser(uid) {
		return fault.New(fault.Denied, "%w", &OwnerError{dir, uid})
	}
	for _, need := range []string{"objects/pack", "refs"} {
		if _, err := f.mkdirs(need); err != nil {
			return err
		}
	}
	return nil
}

func (r *Repo) noteBoot(run string) error {
	if run == "" {
		return nil
	}
	temp := bootName + "." + randomName()
	f, err := r.files.writeTemp(temp, []byte(run), permFile)
	if err != nil {
		return err
	}
	if err = f.Close(); err == nil {
		err = r.files.rename(temp, bootName)
	}
	if err != nil {
		r.files.unlink(temp)
	}
	return err
}

// sound reads every file of a repository. A file that lost its end or its content is an
// Integrity error.
func (r *Repo) sound(ctx context.Context) error {
	torn := func(what string, why error) error {
		return fault.New(fault.Integrity, "%s is damaged: %w", what, why)
	}
	if _, err := r.Head(); err != nil {
		return torn("HEAD", err)
	}
	if _, err := r.Refs("refs/"); err != nil {
		return torn("a ref", err)
	}
	packs, err := r.files.readDir(r.disk.name("pack"))
	if err != nil && !isMissing(err) {
		return err
	}
	for _, f := range packs {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if ext := path.Ext(f.Name()); ext != ".pack" && ext != ".idx" || strings.HasPrefix(f.Name(), ".") {
			continue
		}
		if err := r.sealed(r.disk.name("pack/" + f.Name())); err != nil && !isMissing(err) {
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

// sealed returns an error unless a pack, or its index, ends with the checksum of its bytes.
func (r *Repo) sealed(name string) error {
	file, err := r.files.open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	size := info.Size() - int64(r.format.size())
	if size <= 0 {
		return io.ErrUnexpectedEOF
	}
	sum, h := make([]byte, r.format.size()), r.format.new()
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
