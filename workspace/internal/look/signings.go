package look

import (
	"context"
	"path"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// signings are the recorded versions of an item, each with the first signer of its lines. An
// unsigned version has the signer of the next version with a valid signature.
type signings struct {
	each   map[store.OID]signing
	oldest signing // for lines from before the item got this name
}

// signing holds the facts about lines that came with one version.
type signing struct {
	version string
	state   objects.State // of the signature; "" for none
	signer  string
	in      store.OID // the version with the signature
}

// signingsOf reads the versions of an item up to a commit.
func signingsOf(ctx context.Context, s *session.Session, repo *store.Repo, at store.OID, ref objects.Ref) (*signings, error) {
	all := &signings{each: map[store.OID]signing{}}
	dir := s.Stack.Project.FolderOf(ref)
	var next signing // of the newer version
	err := s.Stack.Project.HistoryOf(ctx, at, ref, func(c *store.Commit, held []store.Entry) error {
		if len(held) == 0 {
			next = signing{} // removed: later lines do not come from earlier versions
			return nil
		}
		raw, err := repo.Blob(held[0].ID, space.MaxItem)
		if err != nil {
			return err
		}
		p := dir + "/" + held[0].Name
		v := signingOf(s, p, raw)
		if v.state == "" {
			v.vouched(s, repo, c, p, raw)
		}
		if newest, err := repo.Commit(at); v.state == "" && len(all.each) == 0 && err == nil {
			v.vouched(s, repo, newest, p, raw) // its manifest was signed later, without a change of this file
		}
		v.in = c.ID
		if v.state != objects.Signed && next.state == objects.Signed {
			v.state, v.signer, v.in = next.state, next.signer, next.in
		}
		all.each[c.ID], all.oldest, next = v, v, v
		return nil
	})
	all.oldest.version = ""
	return all, err
}

// signingOf returns a version's own metadata, and the present verdict on its signature.
func signingOf(s *session.Session, path string, raw []byte) (v signing) {
	it, err := objects.Parse(path, raw)
	if err != nil {
		v.state = objects.Malformed
		return v
	}
	v.version = it.Meta.Version
	switch {
	case it.Legacy != nil:
		v.state = objects.Legacy
	case it.Signature != nil:
		v.state = worthOf(s, it)
	}
	if v.state == objects.Signed {
		v.signer = it.Signature.Key.String()
	}
	return v
}

// vouched adds the signer of the bundle's manifest, for a file of a bundle without its own
// line. A manifest that lists other bytes, or cannot be read, is no evidence.
func (v *signing) vouched(s *session.Session, repo *store.Repo, c *store.Commit, p string, raw []byte) {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		e, err := repo.Lookup(c.Tree, dir+"/"+objects.ManifestName)
		if err != nil {
			continue
		}
		text, err := repo.Blob(e.ID, space.MaxItem)
		if err != nil {
			return
		}
		m, err := objects.ParseManifest(text)
		if err != nil {
			return
		}
		f, listed := m.File(strings.TrimPrefix(p, dir+"/"))
		if !listed || !f.Matches(raw) || m.Item().Signature == nil {
			return
		}
		if v.version, v.state = m.Version, worthOf(s, m.Item()); v.state == objects.Signed {
			v.signer = m.Item().Signature.Key.String()
		}
		return
	}
}

func worthOf(s *session.Session, it *objects.Item) objects.State {
	_, err := trust.Verify(it, s.Stack.Scope(s.Stack.Project), s.Trust)
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

// of describes the lines that came with a commit.
func (s *signings) of(c *store.Commit) rye.BlameLine {
	v, ok := s.each[c.ID]
	if !ok {
		v = s.oldest
	}
	line := rye.BlameLine{Commit: c.ID.String(), When: c.Committer.Time().UTC().Format(time.RFC3339), Author: c.Author.Name,
		Subject: words.FirstLine(c.Message), Version: v.version, State: v.state, Signer: v.signer}
	if v.signer != "" {
		line.SignedIn = v.in.String()
	}
	if c.Signature != "" {
		if key, err := trust.VerifySSHSIG(c.Signature, trust.GitNamespace, c.Unsigned()); err == nil {
			line.RecordedBy = key.Fingerprint().String()
		}
	}
	return line
}
