// Package merging merges two versions of a file, as git's merge driver and rye resolve need it.
//
// # Reasons
//
// Two people who edit one item always differ in its signature line, so git sees a conflict in
// each of their merges. This package compares the versions without that line. If only one of
// them changed the text, that version stays whole, with its signature. Otherwise the text is
// merged as git merges it, and nobody has signed the result. Every function is one of its
// arguments alone: a driver runs in the directory of a clone, whose files must not decide.
package merging

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/internal/diff"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/stdlib"
)

// Sides are the three texts of a merge. Base is nil, or empty, if both sides added the file.
type Sides struct{ Base, Ours, Theirs []byte }

// Result is a merged file.
type Result struct {
	Text      []byte
	Conflicts int  // whose marks are in Text; for a file that is not merged, 1, and Text is ours
	Unsigned  bool // the text has a line rye:merged in the place of a signature
}

// A Sort is the way in which files of one name are merged.
type Sort int

// The sorts.
const (
	Text     Sort = iota // line by line, as git does
	Item                 // line by line, without the signature lines
	Manifest             // entry by entry, without the signature lines
	Lock                 // entry by entry
	Personal             // not at all: a person decides
)

// lockFile and personal are names directly below .ai.
const lockFile = "rye.lock"

var personal = []string{"allowed_signers", "denied", "denied-keys", "rye.yaml", "policy.yaml"}

// SortOf returns the sort of a file by its path, with slashes, in the repository. below is the
// path below the first directory .ai in it.
func SortOf(p string) (sort Sort, below string) {
	names := strings.Split(p, "/")
	i := slices.Index(names, ".ai")
	if i < 0 || slices.ContainsFunc(names[i+1:], func(n string) bool { return strings.EqualFold(n, ".ai") }) {
		return Text, ""
	}
	names = names[i+1:]
	below = strings.Join(names, "/")
	switch {
	case len(names) == 1 && below == lockFile:
		return Lock, below
	case len(names) == 1 && slices.Contains(personal, below):
		return Personal, below
	case path.Base(below) == objects.ManifestName:
		return Manifest, below
	case len(names) > 1 && slices.Contains([]string{"directives", "tools", "knowledge", "config", "bundles"}, names[0]):
		return Item, below
	}
	return Text, below
}

// Merge merges the sides of the file at p, a path with slashes in the repository.
func Merge(p string, s Sides, marks diff.Marks) Result {
	sort, below := SortOf(p)
	switch sort {
	case Lock:
		return mergeLock(s)
	case Personal:
		if bytes.Equal(s.Ours, s.Theirs) {
			return Result{Text: s.Ours}
		}
		return Result{Text: s.Ours, Conflicts: 1}
	case Manifest:
		return mergeSigned(below, s, func(base, ours, theirs []byte) ([]byte, int) { return mergeManifest(base, ours, theirs, marks) })
	case Item:
		return mergeSigned(below, s, func(base, ours, theirs []byte) ([]byte, int) { return mergeText(base, ours, theirs, marks) })
	}
	text, n := mergeText(s.Base, s.Ours, s.Theirs, marks)
	return Result{Text: text, Conflicts: n}
}

func mergeText(base, ours, theirs []byte, marks diff.Marks) ([]byte, int) {
	text, n := diff.Merge(string(base), string(ours), string(theirs), marks)
	return []byte(text), n
}

// body returns a file without its signature line, or without the line that an earlier merge
// put in its place. ok is false for a file with a line that is damaged or not the only one.
func body(p string, raw []byte) (text []byte, line, ok bool) {
	text, _, _, err := objects.Split(p, raw)
	return text, len(text) != len(raw), err == nil
}

// mergeSigned merges files with signature lines by their bodies.
func mergeSigned(p string, s Sides, merge func(base, ours, theirs []byte) ([]byte, int)) Result {
	ours, lineO, okO := body(p, s.Ours)
	theirs, lineT, okT := body(p, s.Theirs)
	base, _, okB := body(p, s.Base)
	if !okO || !okT {
		text, n := merge(s.Base, s.Ours, s.Theirs)
		return Result{Text: text, Conflicts: n}
	}
	if !okB { // perhaps an unfinished merge of two bases: it is text
		base = s.Base
	}
	switch {
	case bytes.Equal(ours, theirs):
		if bytes.Equal(s.Ours, s.Base) || lineT && !signed(p, s.Ours) {
			return Result{Text: s.Theirs}
		}
		return Result{Text: s.Ours}
	case okB && bytes.Equal(theirs, base):
		return Result{Text: s.Ours}
	case okB && bytes.Equal(ours, base):
		return Result{Text: s.Theirs}
	}
	text, n := merge(base, ours, theirs)
	switch {
	case n == 0 && bytes.Equal(text, ours):
		return Result{Text: s.Ours}
	case n == 0 && bytes.Equal(text, theirs):
		return Result{Text: s.Theirs}
	case !lineO && !lineT:
		return Result{Text: text, Conflicts: n}
	}
	raw, marked := objects.WithMerged(p, text, objects.MergeLine{Ours: objects.DigestOf(ours), Theirs: objects.DigestOf(theirs)})
	return Result{Text: raw, Conflicts: n, Unsigned: marked}
}

// signed reports whether a file has a signature line.
func signed(p string, raw []byte) bool {
	_, sig, legacy, err := objects.Split(p, raw)
	return err == nil && (sig != nil || legacy != nil)
}

// mergeLock merges two locks. The files in the working tree decide nothing, because git has
// perhaps not merged them yet.
func mergeLock(s Sides) Result {
	parsed := func(raw []byte) (*chain.Lock, bool) {
		if len(raw) == 0 {
			return nil, true
		}
		l, err := chain.ParseLock(raw)
		return l, err == nil
	}
	ours, ok1 := parsed(s.Ours)
	theirs, ok2 := parsed(s.Theirs)
	base, _ := parsed(s.Base) // of two bases perhaps an unfinished merge: then neither side has an older entry
	if ok1 && ok2 {
		merged, conflicts := chain.MergeLocks(base, ours, theirs, chain.LockChoices{Stdlib: LaterRelease})
		if text, err := merged.Encode(); err == nil && len(conflicts) == 0 {
			if _, err := chain.ParseLock(text); err == nil {
				return Result{Text: text}
			}
		}
	}
	return Result{Text: chain.ShowConflict(s.Base, s.Ours, s.Theirs), Conflicts: 1}
}

// LaterRelease prefers the later release of the standard library, if this program knows both.
func LaterRelease(ours, theirs chain.StdlibPin) chain.Side {
	rank := func(pin chain.StdlibPin) int {
		return slices.IndexFunc(stdlib.Releases(), func(r stdlib.Release) bool { return r.Manifest == pin.Manifest.String() })
	}
	a, b := rank(ours), rank(theirs)
	switch {
	case a < 0 || b < 0:
		return chain.Neither
	case a >= b:
		return chain.Ours
	}
	return chain.Theirs
}
