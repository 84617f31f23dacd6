package author

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// changeable returns the space with this name, "" for the project's, when it can be changed.
// Unless looks is set, it first finishes a change that a killed process left.
func changeable(ctx context.Context, s *custody.Desk, name string, looks bool) (*space.Layer, error) {
	sp, err := objects.ParseSpace(cmp.Or(name, objects.Project.String()))
	if err != nil {
		return nil, err
	}
	l, err := s.Stack.Layer(sp)
	if err != nil || looks {
		return l, err
	}
	s.SweepStale()
	what, err := space.Finish(ctx, l)
	if what != "" {
		s.Tell("finished an interrupted change: " + what)
	}
	return l, err
}

// change writes or deletes files and records that in one commit: both, or neither. record
// holds recorded changes that differ from files or go beyond them. It returns the commit.
// Where there can be no record it tells the user, changes the files, and returns no commit.
func change(ctx context.Context, s *custody.Desk, l *space.Layer, verb string, refs []objects.Ref, files []store.Change, record ...store.Change) (string, error) {
	return changeAs(ctx, s, l, subject(verb, refs), files, record...)
}

// changeAs is change with the text of its commit.
func changeAs(ctx context.Context, s *custody.Desk, l *space.Layer, text string, files []store.Change, record ...store.Change) (string, error) {
	if l.Store == "" {
		s.Tell("the change is not recorded: " + s.Records.Err().Error())
		return "", writeFiles(l, files)
	}
	named := pathsOf(record)
	for _, c := range files {
		if !named[c.Path] {
			record = append(record, c)
		}
	}
	o, err := s.Keys.CommitOptions(ctx, text)
	if err == nil {
		record, err = l.WithoutOld(record)
	}
	if err != nil {
		return "", err
	}
	id, err := l.Change(ctx, files, record, o)
	if err != nil {
		return "", err
	}
	return id.String(), nil
}

// writeFiles writes or deletes working files.
func writeFiles(l *space.Layer, files []store.Change) error {
	for _, c := range files {
		var err error
		if c.Delete {
			err = l.Remove(c.Path)
		} else {
			err = writeFile(l, c.Path, c.Data, space.WaitFor(len(files)))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return l.SyncNames(files...)
}

// removalsOf returns the changes that remove files.
func removalsOf(files []store.Change) []store.Change {
	gone := make([]store.Change, len(files))
	for i, c := range files {
		gone[i] = store.Change{Path: c.Path, Delete: true}
	}
	return gone
}

// record commits changes to a space and returns the commit. Its subject names the verb and the
// items. Where there can be no record it tells the user, and returns no commit.
func record(ctx context.Context, s *custody.Desk, l *space.Layer, verb string, refs []objects.Ref, changes []store.Change) (string, error) {
	if l.Store == "" {
		s.Tell("the change is not recorded: " + s.Records.Err().Error())
		return "", nil
	}
	o, err := s.Keys.CommitOptions(ctx, subject(verb, refs))
	if err == nil {
		changes, err = l.WithoutOld(changes)
	}
	if err != nil {
		return "", err
	}
	id, err := l.Record(ctx, changes, o)
	if err != nil {
		return "", err
	}
	return id.String(), nil
}

func subject(verb string, refs []objects.Ref) string {
	if len(refs) == 1 {
		return verb + " " + refs[0].String() + "\n"
	}
	text := verb + " " + words.Plural(len(refs), "item") + "\n\n"
	for _, ref := range refs[:min(len(refs), 100)] {
		text += ref.String() + "\n"
	}
	if more := len(refs) - 100; more > 0 {
		text += "... and " + words.Plural(more, "more item") + "\n"
	}
	return text
}

// keep records files before their replacement or removal, in a commit of its own: the
// replacement's commit would leave them out of the history.
func keep(ctx context.Context, s *custody.Desk, l *space.Layer, refs []objects.Ref, files []store.Change) error {
	if len(files) == 0 {
		return nil
	}
	if l.Store == "" {
		return fault.New(fault.NotFound, "%s would be lost, because there is no record to keep it", files[0].Path).
			Advise("move .ai/%s out of the project", files[0].Path)
	}
	_, err := record(ctx, s, l, "keep", refs, files)
	return err
}

// keepFile is keep for the working file of ref at p. It records nothing when there is no
// file, when the file already holds the replacement, and when the record has it.
func keepFile(ctx context.Context, s *custody.Desk, l *space.Layer, ref objects.Ref, p string, replacement []byte) error {
	have, err := l.Read(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case fault.CodeOf(err) == fault.Limit:
		return fault.New(fault.Limit, "%s: %w, so no record could keep it", ref, err).Advise("move .ai/%s out of the project", p)
	case err != nil || bytes.Equal(have, replacement):
		return err
	}
	// An older version was recorded when it was new, and is not recorded again.
	if held, err := l.EverHeld(ctx, ref, have); err != nil || held {
		return err
	}
	return keep(ctx, s, l, []objects.Ref{ref}, []store.Change{{Path: p, Data: have}})
}

// writeFile writes a working file, unless it holds these bytes already.
func writeFile(l *space.Layer, p string, data []byte, wait space.Wait) error {
	if have, err := l.Read(p); err == nil && bytes.Equal(have, data) {
		return nil
	}
	return l.Write(p, data, wait)
}

// draftOf returns the working item for ref, trusted or not. read is the layer's Draft, or its
// Drafts for many items.
func draftOf(l *space.Layer, ref objects.Ref, read func(objects.Ref) (*objects.Item, error)) (*objects.Item, error) {
	it, err := read(ref)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "%s: not in the %s space", ref, l.Space).With(space.Makes(l.Space, ref))
	}
	return it, err
}

// recordedBlobs returns a function for the recorded blob at a path in a layer, for n calls.
// Looking one up in a wide folder costs as much as reading the folder.
func recordedBlobs(ctx context.Context, l *space.Layer, n int) (func(p string) (store.OID, error), error) {
	if n <= 16 {
		return l.RecordedBlob, nil
	}
	all := map[string]store.OID{}
	err := l.Recorded(ctx, func(p string, blob store.OID) error { all[p] = blob; return nil })
	return func(p string) (store.OID, error) { return all[p], nil }, err
}
