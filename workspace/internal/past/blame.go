// Package past tells what was recorded: when, by whom, and what changed.
package past

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Historian compares the versions of files in a repository, each question within bounds.
// store/gogit has one.
type Historian interface {
	// Blame returns for each line of a file in a commit the commit that it came with.
	Blame(ctx context.Context, r *store.Repo, at store.OID, path string) ([]store.OID, error)

	// Patches calls visit for each file that differs between two commits. from or to is ""
	// where there is none; hunks, called before visit returns or not at all, compares them.
	Patches(ctx context.Context, r *store.Repo, old, now store.OID, visit func(from, to string, hunks func() ([]string, error)) error) error
}

// Desk is where what was recorded is looked at. Historian may be nil.
type Desk struct {
	*session.Session
	Historian Historian
}

// historian refuses what only a Historian can do where there is none.
func (d *Desk) historian(what string) (Historian, error) {
	if d.Historian == nil {
		return nil, fault.New(fault.Denied, "%s: versions are compared by rye-engine, and this program is not it", what)
	}
	return d.Historian, nil
}

// Blame tells for each line of a recorded item which version it came with, and who signed that.
func Blame(ctx context.Context, d *Desk, q rye.BlameRequest) ([]rye.BlameLine, error) {
	h, err := d.historian("blame")
	if err != nil {
		return nil, err
	}
	if err := q.Ref.Check(); err != nil {
		return nil, err
	}
	l := d.Stack.Project
	at, path, raw, err := blamed(ctx, l, q)
	if err != nil {
		return nil, err
	}
	if q.At == "" {
		d.tellChanged(l, q.Ref, raw)
	}
	if !utf8.Valid(raw) || bytes.IndexByte(raw, 0) >= 0 {
		return nil, fault.New(fault.Malformed, "blame %s: .ai/%s is not text", q.Ref, path)
	}
	repo, err := l.Repo()
	if err != nil {
		return nil, err
	}
	from, err := h.Blame(ctx, repo, at, path)
	if err != nil {
		return nil, err
	}
	return d.blameLines(repo, path, raw, from)
}

// blamed finds the recorded version that is asked about: its commit, path and bytes.
func blamed(ctx context.Context, l *space.Layer, q rye.BlameRequest) (at store.OID, path string, raw []byte, err error) {
	commit := q.At
	if commit == "" {
		tip, err := l.Tip()
		if err != nil {
			return at, "", nil, err
		}
		if tip.IsZero() {
			return at, "", nil, fault.New(fault.NotFound, "blame %s: never recorded in this project", q.Ref).Advise("rye add %s records a file", q.Ref)
		}
		commit = tip.String()
	}
	at, path, raw, err = l.Version(ctx, q.Ref, commit)
	if err == nil && path == "" {
		err = fault.New(fault.NotFound, "blame %s: commit %s does not hold it", q.Ref, commit).Mend("rye log")
	}
	return at, path, raw, err
}

// tellChanged says that the working file is another than the one that is shown.
func (d *Desk) tellChanged(l *space.Layer, ref objects.Ref, raw []byte) {
	where, err := l.Locate(ref)
	if err != nil || where == "" {
		return
	}
	if now, err := l.Read(where); err == nil && !bytes.Equal(now, raw) {
		d.Tell("shown as it was recorded; the file has changed since: rye diff " + ref.String())
	}
}

func (d *Desk) blameLines(repo *store.Repo, path string, raw []byte, from []store.OID) ([]rye.BlameLine, error) {
	texts := slices.Collect(strings.Lines(string(raw)))
	if len(texts) != len(from) {
		return nil, fault.New(fault.Failed, "blame .ai/%s: %d of its %d lines have a commit", path, len(from), len(texts))
	}
	known := map[store.OID]rye.BlameLine{}
	all := make([]rye.BlameLine, len(texts))
	for i, text := range texts {
		line, ok := known[from[i]]
		if !ok {
			var err error
			if line, err = d.origin(repo, from[i], path); err != nil {
				return nil, err
			}
			known[from[i]] = line
		}
		line.Line, line.Text = i+1, strings.TrimSuffix(text, "\n")
		all[i] = line
	}
	return all, nil
}

// origin describes the version that lines came with.
func (d *Desk) origin(repo *store.Repo, id store.OID, path string) (rye.BlameLine, error) {
	c, err := repo.Commit(id)
	if err != nil {
		return rye.BlameLine{}, err
	}
	line := rye.BlameLine{Commit: id.String(), When: c.Committer.Time().UTC().Format(time.RFC3339), Author: c.Author.Name, Subject: words.FirstLine(c.Message)}
	if c.Signature != "" {
		if key, err := trust.VerifySSHSIG(c.Signature, trust.GitNamespace, c.Unsigned()); err == nil {
			line.RecordedBy = key.Fingerprint().String()
		}
	}
	e, err := repo.Lookup(c.Tree, path)
	if errors.Is(err, store.ErrNotExist) {
		return line, nil // it had another name then
	}
	var raw []byte
	if err == nil {
		raw, err = repo.Blob(e.ID, space.MaxItem)
	}
	if err == nil {
		d.signed(&line, path, raw)
	}
	return line, err
}

// signed adds what a version of the item says of itself, and what its signature is worth now.
func (d *Desk) signed(line *rye.BlameLine, path string, raw []byte) {
	it, err := objects.Parse(path, raw)
	if err != nil {
		line.State = objects.Malformed
		return
	}
	line.Version = it.Meta.Version
	switch {
	case it.Legacy != nil:
		line.State = objects.Legacy
	case it.Signature != nil:
		line.State = d.worth(it)
	}
	if line.State == objects.Signed {
		line.Signer = it.Signature.Key.String()
	}
}

func (d *Desk) worth(it *objects.Item) objects.State {
	_, err := trust.Verify(it, d.Stack.Scope(d.Stack.Project), d.Trust)
	switch {
	case err == nil:
		return objects.Signed
	case fault.Is(err, fault.Integrity):
		return objects.Modified
	case fault.Is(err, fault.Revoked):
		return objects.Revoked
	}
	return objects.Untrusted
}
