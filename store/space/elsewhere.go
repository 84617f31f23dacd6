package space

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// Other is the record of another directory in which this user has the same project: a linked
// worktree, a second clone, a copy. It is only read. It is safe for concurrent use.
type Other struct {
	Key   string // of its place
	Path  string // of that directory, for people
	Index string // the file that caches its names; it may be empty, missing or outdated

	l     *Layer
	once  sync.Once
	names *names
	err   error
}

// NewOther returns the Other for the store at record.
func NewOther(key, path, record, index string) *Other {
	return &Other{Key: key, Path: path, Index: index, l: &Layer{Space: objects.Project, Store: record}}
}

// Close closes the record.
func (o *Other) Close() error { return o.l.Close() }

// read reads the current names of the record from the index, or from the record if the index
// is outdated. An interrupted change there counts as far as it was recorded.
func (o *Other) read(ctx context.Context) error {
	o.once.Do(func() {
		var tip store.OID
		if o.err = o.l.load(); o.err == nil && o.l.repo != nil {
			tip, o.err = o.l.repo.Ref(o.l.Ref())
		}
		if errors.Is(o.err, store.ErrNotExist) {
			o.err = o.l.lost()
		}
		switch {
		case o.err != nil:
		case tip.IsZero():
			o.names = &names{}
		default:
			if o.names = readNames(o.Index, tip); o.names == nil {
				o.names = &names{tip: tip, fresh: true}
				o.names.all, o.err = o.l.readAnnals(ctx, tip)
			}
		}
		if o.err != nil {
			o.err = fault.New(fault.CodeOf(o.err), "read the removals in %s: %v", words.Quote(o.Path), o.err).
				Mend("rye -C %s fsck --repair", o.Path)
		}
	})
	return o.err
}

// of returns all versions that the record ever held under the name of sub; nil for none.
func (o *Other) of(ctx context.Context, sub subject) (*versions, error) {
	if err := o.read(ctx); err != nil {
		return nil, err
	}
	return o.names.find(sub.key())
}

// Keep updates an outdated index. Without an index the record is read each time.
func (o *Other) Keep(ctx context.Context) error {
	if err := o.read(ctx); err != nil || !o.names.fresh {
		return err
	}
	return o.names.write(o.Index)
}

// pastElsewhere returns how a validly signed file of the project is behind the user's records
// in other directories of the same project: the file was removed there, or it is wider than a
// version that was signed later. nil means neither. Records by keys that are not trusted here
// for the item have no effect. Records from before the time when this directory's record took
// in its version have no effect either. An older version with no more permissions is used:
// another directory is another branch.
func pastElsewhere(ctx context.Context, s *Stack, l *Layer, sub subject, recorded bool) (worst *Past, err error) {
	if l.Space != objects.Project {
		return nil, nil
	}
	others, err := othersOf(s)
	for _, o := range others {
		h, err := o.of(ctx, sub)
		if err != nil {
			return nil, err
		}
		if h == nil || h.removed.IsZero() && len(h.versions) > 0 && h.versions[0].blob == l.BlobID(sub.item.Raw) {
			continue // the version that the record holds now
		}
		p, err := o.past(s, l, sub, h)
		if err != nil {
			return nil, err
		}
		if p == nil {
			continue
		}
		if recorded {
			after, err := s.recordedAfter(ctx, l, sub, h.changed)
			if err != nil {
				return nil, err
			}
			if after {
				continue
			}
		}
		if worst == nil || worst.Removed.IsZero() && (!p.Removed.IsZero() || p.Newest.After(worst.Newest)) {
			worst = p
		}
	}
	return worst, err
}

// past is pastElsewhere for one record that has versions of the name.
func (o *Other) past(s *Stack, l *Layer, sub subject, h *versions) (*Past, error) {
	newest, err := h.newest(s, o.l, s.Scope(l), sub)
	if newest == nil || err != nil {
		return nil, err
	}
	p := &Past{Name: sub.name, Path: sub.path, Raw: sub.item.Raw, Where: o.Path, Newest: newest.signedAt, space: l.Space, tree: newest.tree, repo: o.l.repo}
	older := newest.aheadOf(sub.item)
	if older {
		p.Wider = widerThan(sub.item, newest.item)
	}
	if !h.removed.IsZero() && !sub.signedAfter(h.removed) {
		p.Removed = h.removed
	}
	if p.Removed.IsZero() && len(p.Wider) == 0 && (sub.ref.Kind != "" || !older) {
		return nil, nil // behindWith compares the files of a bundle
	}
	return p, nil
}

// recordedAfter reports whether this directory's record last changed the name of sub after a
// time.
func (s *Stack) recordedAfter(ctx context.Context, l *Layer, sub subject, t time.Time) (bool, error) {
	c, err := l.tip()
	if c == nil || err != nil {
		return false, err
	}
	h, err := s.annals[l.Space].of(ctx, l, c, sub)
	return err == nil && h.changed.After(t), l.damaged(err)
}

// NoEffect calls visit for each item that was removed there by keys that are not trusted for
// it here, with the signer's key: such a removal has no effect here. It reads at most
// someNames names.
func (o *Other) NoEffect(ctx context.Context, s *Stack, visit func(ref objects.Ref, signer objects.Fingerprint)) error {
	if err := o.read(ctx); err != nil {
		return err
	}
	n := 0
	return o.names.each(func(name string, h *versions) error {
		ref, err := objects.ParseRef(name)
		if err != nil || h.removed.IsZero() || n >= someNames {
			return nil
		}
		n++
		sub := subject{name: name, ref: ref, parse: objects.Parse}
		newest, err := h.newest(s, o.l, s.Scope(s.Project), sub)
		if err != nil || newest != nil {
			return err
		}
		if by := h.lastSignature(); by != nil {
			visit(ref, by.Key)
		}
		return nil
	})
}

const someNames = 1000

// lastSignature returns the newest signature among the versions; nil for none. The versions
// must have been read.
func (h *versions) lastSignature() *objects.Signature {
	for _, v := range h.versions {
		if _, sig, _, err := objects.Split(v.path, v.raw); err == nil && sig != nil {
			return sig
		}
	}
	return nil
}

// Signer returns a key that is accepts, from the signature lines of a namespace's items in the
// record; ok is false for none. It verifies no signature, and reads at most someNames names.
func (o *Other) Signer(ctx context.Context, namespace string, is func(objects.Fingerprint) bool) (fp objects.Fingerprint, ok bool, err error) {
	if err := o.read(ctx); err != nil {
		return fp, false, err
	}
	n := 0
	err = o.names.each(func(name string, h *versions) error {
		ref, err := objects.ParseRef(name)
		if err != nil || ok || ref.ID.Namespace() != namespace || !h.removed.IsZero() || n >= someNames {
			return nil
		}
		n++
		if err := h.readAll(o.l); err != nil {
			return err
		}
		if sig := h.lastSignature(); sig != nil && is(sig.Key) {
			fp, ok = sig.Key, true
		}
		return nil
	})
	return fp, ok, err
}

// HasOthers reports whether other directories of the project may restrict this one.
func HasOthers(s *Stack) bool {
	all, err := othersOf(s)
	return len(all) > 0 || err != nil
}

// othersOf returns the records of other directories of the project.
func othersOf(s *Stack) ([]*Other, error) {
	if s.Others == nil {
		return nil, nil
	}
	return s.Others()
}

// sumOfOthers digests the state of other directories of the project that verdicts depend on.
func sumOfOthers(ctx context.Context, s *Stack) (sum objects.Digest, err error) {
	others, err := othersOf(s)
	var all []string
	for _, o := range others {
		if err := o.read(ctx); err != nil {
			return sum, err
		}
		all = append(all, o.l.Store+" "+o.names.tip.String())
	}
	if len(all) == 0 || err != nil {
		return sum, err
	}
	slices.Sort(all)
	return objects.DigestOf(fmt.Appendf(nil, "%q", all)), nil
}
