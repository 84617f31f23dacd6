package chain

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/rye-os/rye/objects"
)

// LockConflict is an entry that both sides of a merge changed differently, and that no rule
// decides.
type LockConflict struct {
	Entry  string // "tool:acme/hello", "namespace acme", "registry main", "stdlib"
	Ours   string // the differing field there, "removed it" or "changed it"
	Theirs string
}

func (c LockConflict) String() string {
	return fmt.Sprintf("%s: ours %s, theirs %s", c.Entry, c.Ours, c.Theirs)
}

// Side is one of the two locks that are merged.
type Side int

// The sides. Neither leaves a conflict.
const (
	Neither Side = iota
	Ours
	Theirs
)

// LockChoices decides entries that both sides changed. A nil function decides nothing. Registry
// items and log positions need no function: the newer one is taken.
type LockChoices struct {
	Stdlib func(ours, theirs StdlibPin) Side
	Item   func(ref objects.Ref, ours, theirs *Pin) Side // nil pin: removed on that side
	Origin func(ref objects.Ref, ours, theirs *OriginPin) Side
	Rest   Side // for entries that are still undecided
}

// MergeLocks merges two locks that began as base, which may be nil. An entry that one side
// changed, added or removed takes that side's form. When both sides did, the higher log position
// of a namespace and the higher version of a registry's item are taken, because both only
// increase. c decides the rest. An origin that nothing decides is left out, because it is only a
// copy. MergeLocks is a pure function. Its result is a valid lock when
// there are no conflicts.
func MergeLocks(base, ours, theirs *Lock, c LockChoices) (*Lock, []LockConflict) {
	base, ours, theirs = base.Clone(), ours.Clone(), theirs.Clone()
	m := &lockMerge{out: ours.Clone(), choices: c}
	system := m.stdlib(base.Stdlib, ours.Stdlib, theirs.Stdlib)
	mergeMap(m, "registry ", m.out.Registries, base.Registries, ours.Registries, theirs.Registries, func(_ string, a, b *RegistryPin) Side {
		if a != nil && b != nil && a.ID == b.ID {
			return Ours // the same registry at two addresses
		}
		return Neither
	})
	mergeMap(m, "namespace ", m.out.Namespaces, base.Namespaces, ours.Namespaces, theirs.Namespaces, func(_ string, a, b *NamespacePin) Side {
		switch {
		case a == nil || b == nil || a.Registry != b.Registry || a.Seq == b.Seq: // one length, two tips: a fork
			return Neither
		case a.Seq > b.Seq:
			return Ours
		}
		return Theirs
	})
	mergeMap(m, "", m.out.Items, base.Items, ours.Items, theirs.Items, func(ref objects.Ref, a, b *Pin) Side {
		if side := system; side != Neither && all(a, b, func(p *Pin) bool { return p.Space == objects.System }) {
			return side // these items belong to the library
		}
		if side := newer(a, b); side != Neither {
			return side
		}
		if c.Item == nil {
			return Neither
		}
		return c.Item(ref, a, b)
	})
	m.origins(base.Origins, ours.Origins, theirs.Origins)
	m.complete(theirs, ours, base)
	slices.SortFunc(m.conflicts, func(a, b LockConflict) int { return strings.Compare(a.Entry, b.Entry) })
	return m.out, m.conflicts
}

type lockMerge struct {
	out       *Lock
	choices   LockChoices
	conflicts []LockConflict
}

// stdlib merges the pin of the standard library and returns the side whose library items go with
// it.
func (m *lockMerge) stdlib(base, ours, theirs *StdlibPin) Side {
	side := decided(base, ours, theirs)
	if side == Neither && ours != nil && theirs != nil && m.choices.Stdlib != nil {
		side = m.choices.Stdlib(*ours, *theirs)
	}
	side = m.settle("stdlib", side, ours, theirs)
	if side == Theirs {
		m.out.Stdlib = theirs
	}
	if reflect.DeepEqual(ours, theirs) {
		return Neither // equal pins decide nothing
	}
	return side
}

// complete restores the entries that a merged chain needs. One side may have removed such an
// entry together with its last tool that used it.
func (m *lockMerge) complete(from ...*Lock) {
	for _, pin := range maps.Clone(m.out.Items) {
		for _, ref := range pin.Chain {
			for _, l := range from {
				if _, ok := m.out.Items[ref]; ok {
					break
				}
				if link, ok := l.Items[ref]; ok {
					m.out.Items[ref] = link
				}
			}
		}
	}
	for _, pin := range m.out.Items {
		for _, l := range from {
			if r, ok := l.Registries[pin.From]; ok && pin.From != "" {
				if _, has := m.out.Registries[pin.From]; !has {
					m.out.Registries[pin.From] = r
				}
			}
		}
	}
}

// settle applies the last choice, and records a conflict when that is Neither.
func (m *lockMerge) settle(entry string, side Side, ours, theirs any) Side {
	if side == Neither {
		side = m.choices.Rest
	}
	if side == Neither {
		a, b := difference(ours, theirs)
		m.conflicts = append(m.conflicts, LockConflict{Entry: entry, Ours: a, Theirs: b})
	}
	return side
}

// mergeMap merges one table of the lock into out, which starts as a copy of ours.
func mergeMap[K comparable, V any](m *lockMerge, what string, out, base, ours, theirs map[K]V, both func(K, *V, *V) Side) {
	keys := maps.Clone(ours)
	maps.Copy(keys, theirs)
	maps.Copy(keys, base)
	for k := range keys {
		o, a, b := at(base, k), at(ours, k), at(theirs, k)
		side := decided(o, a, b)
		if side == Neither {
			side = both(k, a, b)
		}
		if m.settle(what+fmt.Sprint(k), side, a, b) != Theirs {
			continue
		}
		if b == nil {
			delete(out, k)
		} else {
			out[k] = *b
		}
	}
}

func at[K comparable, V any](table map[K]V, k K) *V {
	if v, ok := table[k]; ok {
		return &v
	}
	return nil
}

// decided applies the rule of three-way merging: the side that changed wins.
func decided[V any](base, ours, theirs *V) Side {
	switch {
	case reflect.DeepEqual(ours, theirs), reflect.DeepEqual(base, theirs):
		return Ours
	case reflect.DeepEqual(base, ours):
		return Theirs
	}
	return Neither
}

func all(a, b *Pin, is func(*Pin) bool) bool {
	return (a != nil || b != nil) && (a == nil || is(a)) && (b == nil || is(b))
}

// newer picks the higher version of an item that both sides have from one registry.
func newer(a, b *Pin) Side {
	if a == nil || b == nil || a.From == "" || a.From != b.From {
		return Neither
	}
	va, erra := objects.ParseVersion(a.Version)
	vb, errb := objects.ParseVersion(b.Version)
	if erra != nil || errb != nil {
		return Neither
	}
	switch va.Compare(vb) {
	case 1:
		return Ours
	case -1:
		return Theirs
	}
	return Neither
}

// difference names the first field in which two entries differ.
func difference(ours, theirs any) (string, string) {
	a, b := reflect.Indirect(reflect.ValueOf(ours)), reflect.Indirect(reflect.ValueOf(theirs))
	switch {
	case !a.IsValid():
		return "removed it", "changed it"
	case !b.IsValid():
		return "changed it", "removed it"
	}
	for i := range a.NumField() {
		name := strings.ToLower(a.Type().Field(i).Name)
		if va, vb := a.Field(i).Interface(), b.Field(i).Interface(); !reflect.DeepEqual(va, vb) {
			return fmt.Sprintf("%s %v", name, va), fmt.Sprintf("%s %v", name, vb)
		}
	}
	return "the same", "the same"
}

// Conflicted reports whether a lock holds the markers of an unresolved merge. Git places them by
// lines, so neither side can be restored from the file.
func Conflicted(raw []byte) bool {
	return bytes.HasPrefix(raw, markOurs) || bytes.Contains(raw, append([]byte("\n"), markOurs...))
}

var markOurs = []byte("<<<<<<< ")

// ShowConflict returns the file for a lock that could not be merged: both sides whole, between
// git's markers, for a person to read.
func ShowConflict(base, ours, theirs []byte) []byte {
	return bytes.Join([][]byte{markOurs, []byte("ours\n"), ours, []byte("||||||| base\n"), base, []byte("=======\n"), theirs, []byte(">>>>>>> theirs\n")}, nil)
}
