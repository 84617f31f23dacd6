package session

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
)

// Full parses a name that means the same item whatever is here: kind:id, or the path of an
// item's file below the project's or the user's .ai. For a published name, which can also be an
// id, full is false and ref is the item of that published name. Any other text is an error.
func (h *Host) Full(arg string) (ref objects.Ref, full bool, err error) {
	ref, err = objects.ParseName(arg)
	if err == nil {
		return ref, strings.ContainsAny(arg, ": "), nil
	}
	for _, dir := range []string{h.ProjectDir, h.UserDir} {
		if dir == "" {
			continue
		}
		if p, ok := Below(filepath.Join(dir, ".ai"), arg); ok {
			ref, _, err := objects.RefOfPath(p)
			if err == nil {
				err = objects.CheckExtension(p)
			} else if of, perr := objects.RefOfProgram(p); perr == nil {
				ref, err = of, nil
			}
			return ref, err == nil, err
		}
	}
	return objects.Ref{}, false, cmp.Or(ofAnother(arg), err)
}

// ofAnother returns the error for the path of an item's file in another project; nil for any other
// argument.
func ofAnother(arg string) error {
	dir, p, ok := strings.Cut(filepath.ToSlash(arg), "/.ai/")
	if !ok {
		return nil
	}
	ref, _, err := objects.RefOfPath(p)
	if err != nil || objects.CheckExtension(p) != nil {
		return nil
	}
	return fault.New(fault.NotFound, "%s is an item of another project, %s", ref, words.Brief(dir)).Advise("give -C %s, and the name %s", words.Quote(dir), ref)
}

// RefOf is the one reader of names that people, models and clients give. It accepts what
// Host.Full does, a published name (acme/tool/hello), and an id or its end without the kind
// (acme/hello, hello). A name that two items have is refused, and the error lists both.
func RefOf(ctx context.Context, s *Session, arg string) (objects.Ref, error) {
	return refOf(ctx, s, arg, nil)
}

// RefFor is RefOf for a caller that may not use every item. Others count for nothing. Where only
// they fit, the error is fault.Denied and does not name them.
func RefFor(ctx context.Context, s *Session, arg string, allow func(objects.Ref) error) (objects.Ref, error) {
	hidden := false
	ref, err := refOf(ctx, s, arg, func(ref objects.Ref) bool {
		ok := allow(ref) == nil
		hidden = hidden || !ok
		return ok
	})
	if fault.Is(err, fault.NotFound) && hidden {
		err = fault.New(fault.Denied, "%q: the caller may not use an item of this name", words.Brief(arg))
	}
	if err == nil {
		err = allow(ref)
	}
	return ref, err
}

func refOf(ctx context.Context, s *Session, arg string, may func(objects.Ref) bool) (objects.Ref, error) {
	ref, full, err := s.Full(arg)
	switch {
	case full:
		return ref, nil
	case err == nil:
		return s.Stack.Published(LockedRefs(s), ref, arg, may)
	case !isShort(arg):
		return programAt(ctx, s, arg, err)
	}
	locked := slices.DeleteFunc(LockedRefs(s), func(ref objects.Ref) bool { // a bundle goes by its entry's name
		return ref.Kind == objects.Bundle
	})
	ref, err = s.Stack.Named(ctx, locked, arg, may)
	if fault.Is(err, fault.NotFound) {
		if of, ok := programOf(ctx, s, arg); ok && (may == nil || may(of)) {
			return of, nil
		}
	}
	return ref, err
}

// RecordedRef is RefOf for an item that the record of a layer holds or ever held. Its file may be
// gone.
func RecordedRef(ctx context.Context, s *Session, l *space.Layer, arg string) (objects.Ref, error) {
	ref, full, err := s.Full(arg)
	if full || err != nil && !isShort(arg) {
		return ref, err
	}
	ever, eerr := l.EverRefs(ctx)
	switch {
	case eerr != nil:
		return ref, eerr
	case err == nil:
		return space.PublishedAmong(ever, ref, arg)
	}
	return space.NamedAmong(ever, arg)
}

// isShort reports whether a name can be an id, or the end of one.
func isShort(arg string) bool {
	_, err := objects.ParseID(arg)
	return err == nil
}

// programAt returns the program of a bundle by the path that is its name without a kind. refused is the
// error for a name that is none.
func programAt(ctx context.Context, s *Session, arg string, refused error) (objects.Ref, error) {
	ref, ok := programOf(ctx, s, arg)
	if ok {
		return ref, nil
	}
	if bundle, in := ref.Package(); in && s.Stack.HasBundle(bundle) {
		return objects.Ref{}, fault.New(fault.NotFound, "%q: bundle %s has no such program", words.Brief(arg), bundle.ID).Advise("rye show %s", bundle)
	}
	return objects.Ref{}, refused
}

// programOf returns the program that a name without a kind means: the name of a bundle that is here,
// and the path of one of its programs.
func programOf(ctx context.Context, s *Session, arg string) (objects.Ref, bool) {
	ref, err := objects.ParseName(string(objects.Tool) + ":" + arg)
	return ref, err == nil && s.Stack.HasProgram(ctx, ref)
}
