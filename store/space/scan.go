package space

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/rye-os/rye/internal/parallel"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// Scan judges everything in a space on disk, reading and verifying every file: working files,
// and recorded files that are missing. The findings are sorted by ref. A file that cannot be
// an item is a Malformed finding with a zero Ref; an unreadable file is Malformed too, with
// its ref.
//
// each, if not nil, is called with the finding of every file that was read, by several
// goroutines at once, and may take the bytes from it. In the returned findings only usable
// items have their bytes: the files of a stranger may not fit into memory.
func (s *Stack) Scan(ctx context.Context, l *Layer, each func(*Finding)) ([]Finding, error) {
	recorded, err := l.recordedAll(ctx)
	if err != nil {
		return nil, err
	}
	tip, err := l.tip()
	if err != nil {
		return nil, err
	}
	found := l.listed(ctx)
	if found.err != nil {
		return nil, found.err
	}
	folders := found.folders
	for i := range folders {
		folders[i].pick(nil)
	}
	all, err := s.scanBundles(ctx, l, takeBundles(folders, bundleDirs(folders, recorded)), recorded, each)
	if err != nil {
		return nil, err
	}
	var files []workFile
	for i := range folders {
		folders[i].name()
		files = append(files, folders[i].files...)
		all = append(all, foreignFindings(l, folders[i].foreign)...)
	}
	// A manifest that was not listed is looked for once in each folder.
	judged, err := s.judgeFiles(ctx, l, files, recorded, &Covers{asOf: &moment{tip}}, each)
	if err != nil {
		return nil, err
	}
	all = append(all, judged...)
	for _, f := range all {
		delete(recorded, f.Path)
	}
	for p := range recorded {
		if ref, _, err := objects.RefOfPath(p); err == nil {
			all = append(all, absent(l, ref, p))
		}
	}
	sortFindings(all)
	return all, nil
}

// judgeFiles judges working files, on all processors. It omits files that are removed
// meanwhile.
func (s *Stack) judgeFiles(ctx context.Context, l *Layer, files []workFile, recorded map[string]store.OID, seen *Covers, each func(*Finding)) ([]Finding, error) {
	found := make([]Finding, len(files))
	err := parallel.Chunks(ctx, len(files), 4, func(i int) (err error) {
		f := files[i]
		found[i], err = s.judge(ctx, l, f.path, f.ref, recorded[f.path], seen)
		if errors.Is(err, fs.ErrPermission) {
			found[i], err = keptFromUs(l, f, err), nil
		}
		if errors.Is(err, fs.ErrNotExist) {
			found[i], err = Finding{}, nil
		}
		if each != nil && found[i].Ref.Kind != "" {
			each(&found[i])
		}
		found[i] = found[i].light()
		return err
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(f Finding) bool { return f.Ref.Kind == "" }), nil
}

// light returns a finding without the bytes of an item that may not be used.
func (f Finding) light() Finding {
	if f.Err == nil || f.Item == nil {
		return f
	}
	f.Item = f.Item.WithoutBytes()
	f.Verified = trust.Verified{}
	return f
}

// Forget removes the bytes of an item that has a signature line of its own, and with them the
// leave to use it. The facts for lists stay.
func (f *Finding) Forget() {
	if f.Item != nil && f.Bundle == "" {
		f.Item, f.Verified, f.held = f.Item.WithoutBytes(), trust.Verified{}, trust.Verified{}
	}
}

// recordedAll returns the recorded blob of each path.
func (l *Layer) recordedAll(ctx context.Context) (map[string]store.OID, error) {
	all := map[string]store.OID{}
	err := l.Recorded(ctx, func(p string, blob store.OID) error { all[p] = blob; return nil })
	return all, err
}

func foreignFindings(l *Layer, foreign []foreignName) []Finding {
	var all []Finding
	for _, n := range foreign {
		f := Finding{State: objects.Malformed, Err: n.why}
		f.Space, f.Path = l.Space, n.path
		all = append(all, f)
	}
	return all
}

// keptFromUs returns the finding for a file that the system does not let us read.
func keptFromUs(l *Layer, w workFile, err error) Finding {
	f := Finding{Ref: w.ref, State: objects.Malformed, Err: unreadable(w.path, err)}
	f.Space, f.Path = l.Space, w.path
	return f
}

// ScanSystem returns the items of the compiled-in space.
func (s *Stack) ScanSystem() ([]Finding, error) {
	if s.System == nil {
		return nil, nil
	}
	system, err := s.System()
	if err != nil {
		return nil, err
	}
	var all []Finding
	for _, ref := range system.Refs() {
		f, _, err := s.inSystem(ref)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
		s.keepShipped(f)
	}
	sortFindings(all)
	return all, nil
}

// ScanLock returns the items that the lock brings from registries.
func (s *Stack) ScanLock(refs []objects.Ref) []Finding {
	var all []Finding
	for _, ref := range refs {
		if f, ok, _ := s.inLock(ref); ok {
			all = append(all, f)
		}
	}
	return all
}
