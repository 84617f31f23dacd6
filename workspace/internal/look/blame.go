package look

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// historian returns the Historian, or refuses a request that needs one.
func historian(s *session.Session, what string) (session.Historian, error) {
	if s.Historian == nil {
		return nil, fault.New(fault.Denied, "%s: only rye-engine compares versions, and this is another program", what)
	}
	return s.Historian, nil
}

// Blame shows, for each line of a recorded item, the version that introduced it and the signer
// of that version.
func Blame(ctx context.Context, s *session.Session, q rye.BlameRequest) ([]rye.BlameLine, error) {
	h, err := historian(s, "blame")
	if err != nil {
		return nil, err
	}
	if err := q.Ref.Check(); err != nil {
		return nil, err
	}
	l := s.Stack.Project
	at, path, raw, err := blamed(ctx, l, q)
	if err != nil {
		return nil, err
	}
	if q.At == "" {
		tellChanged(s, l, q.Ref, raw)
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
	signed, err := signingsOf(ctx, s, repo, at, q.Ref)
	if err != nil {
		return nil, err
	}
	return blameLines(repo, raw, from, signed)
}

// blamed finds the requested recorded version: its commit, path and bytes.
func blamed(ctx context.Context, l *space.Layer, q rye.BlameRequest) (at store.OID, path string, raw []byte, err error) {
	commit, what := q.At, "commit "+q.At
	if commit == "" {
		tip, err := l.Tip()
		if err != nil {
			return at, "", nil, err
		}
		if tip.IsZero() {
			return at, "", nil, fault.New(fault.NotFound, "blame %s: this project has no record yet", q.Ref).Advise("rye add records a file")
		}
		commit, what = tip.String(), "the record"
	}
	at, path, raw, err = l.Version(ctx, q.Ref, commit)
	if err == nil && path == "" {
		err = fault.New(fault.NotFound, "blame %s: it is not in %s", q.Ref, what).Advise("rye log shows the recorded versions; give one of its commits to rye blame --at")
	}
	return at, path, raw, err
}

// tellChanged reports that the working file differs from the shown one.
func tellChanged(s *session.Session, l *space.Layer, ref objects.Ref, raw []byte) {
	where, err := l.Locate(ref)
	if err != nil || where == "" {
		return
	}
	if now, err := l.Read(where); err == nil && !bytes.Equal(now, raw) {
		s.Tell("this is the recorded version; the file has changed since: rye diff " + ref.String())
	}
}

// blameLines combines the lines of a file, their commits and their signers.
func blameLines(repo *store.Repo, raw []byte, from []store.OID, signed *signings) ([]rye.BlameLine, error) {
	texts := slices.Collect(strings.Lines(string(raw)))
	if len(texts) != len(from) {
		return nil, fault.New(fault.Failed, "blame: only %d of %s have a commit", len(from), words.Plural(len(texts), "line"))
	}
	known := map[store.OID]rye.BlameLine{}
	all := make([]rye.BlameLine, len(texts))
	for i, text := range texts {
		line, ok := known[from[i]]
		if !ok {
			c, err := repo.Commit(from[i])
			if err != nil {
				return nil, err
			}
			line = signed.of(c)
			known[from[i]] = line
		}
		line.Line, line.Text = i+1, strings.TrimSuffix(text, "\n")
		all[i] = line
	}
	return all, nil
}
