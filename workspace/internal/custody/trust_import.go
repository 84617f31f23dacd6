package custody

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Bounds of what is taken over from the ancestor.
const (
	maxTrustedFiles = 1000
	maxTrustedFile  = 16 << 10 // bytes; one more is read, to be refused
)

// Import pins keys that the ancestor trusted, for the namespaces named: it
// trusted each of them for everything. What it would pin is shown first; as in
// TrustPin a flag may agree only when the fingerprints were given.
func Import(ctx context.Context, h *session.Host, q rye.TrustImportRequest) (*rye.TrustImport, error) {
	st, err := trust.LoadStore(h.TrustPath())
	if err != nil {
		return nil, err
	}
	user, project, where, err := pinScope(h, q.Space)
	if err != nil {
		return nil, err
	}
	if err := checkPinNamespaces(trust.PublicKey{}, q.Namespaces); err != nil {
		return nil, fault.New(fault.CodeOf(err), "import: for which namespaces? The ancestor's keys counted for everything; here each counts for what you name").
			Advise("rye trust import %s --namespace <name>", q.From)
	}
	files, err := trustedFiles(q.From)
	if err != nil {
		return nil, err
	}
	p := importing{q: q, rep: &rye.TrustImport{DryRun: q.DryRun}, seen: map[trust.PublicKey]bool{}}
	for _, f := range files {
		p.take(f, st, user, project)
	}
	if len(p.pins) == 0 || q.DryRun {
		return p.rep, p.failure()
	}
	if err := p.compare(); err != nil {
		return p.rep, err
	}
	if err := h.Ask(ctx, p.question(where)); err != nil {
		return p.rep, err
	}
	err = trust.Update(h.TrustPath(), func(st *trust.Store) error {
		for _, t := range p.pins {
			if err := addPin(st, t.Key, t.Owner, q.Namespaces, user, project); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return p.rep, err
	}
	p.pinned()
	return p.rep, p.failure()
}

// trustedFiles lists the files that may be keys: From itself, or in a directory the
// ones that the ancestor would have read.
func trustedFiles(from string) ([]string, error) {
	st, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "import %s: no such file or directory", from)
	}
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return []string{from}, nil
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext == ".pem" || ext == ".toml" {
			files = append(files, filepath.Join(from, e.Name()))
		}
	}
	// The ones that name an owner come first: of one key in two files the first counts.
	slices.SortStableFunc(files, func(a, b string) int { return strings.Compare(filepath.Ext(b), filepath.Ext(a)) })
	switch {
	case len(files) == 0:
		return nil, fault.New(fault.NotFound, "import %s: no .pem and no .toml file there", from)
	case len(files) > maxTrustedFiles:
		return nil, fault.New(fault.Limit, "import %s: %d files, at most %d", from, len(files), maxTrustedFiles)
	}
	return files, nil
}

// importing is what was found so far.
type importing struct {
	q     rye.TrustImportRequest
	rep   *rye.TrustImport
	pins  []trust.TrustedKey
	seen  map[trust.PublicKey]bool
	first error
}

// take judges one file. st is a copy in memory, which the pins go into on trial.
func (p *importing) take(path string, st *trust.Store, user bool, project string) {
	k := rye.ImportedKey{File: path, Status: "refused"}
	t, err := readTrusted(path)
	if err == nil {
		k.Fingerprint, k.Legacy, k.Owner = t.Key.String(), t.Fingerprint, t.Owner
		switch {
		case p.seen[t.Key]:
			k.Status = "repeated"
		case keyState(st, t.Key) == "denied":
			err = fault.New(fault.Revoked, "import %s: you denied %s", path, t.Key).Mend("rye trust allow %s", t.Key)
		case st.IsOwn(t.Key):
			k.Status = "own"
		default:
			if err = addPin(st, t.Key, t.Owner, p.q.Namespaces, user, project); err == nil {
				k.Status = "would-pin"
				p.pins = append(p.pins, t)
			}
		}
		p.seen[t.Key] = true
	}
	if err != nil {
		k.Error, k.Code = err.Error(), fault.CodeOf(err)
		if p.first == nil {
			p.first = err
		}
	}
	p.rep.Keys = append(p.rep.Keys, k)
}

func readTrusted(path string) (t trust.TrustedKey, err error) {
	f, err := os.Open(path)
	if err != nil {
		return t, fault.New(fault.NotFound, "import %s: %w", path, err)
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return t, fault.New(fault.Malformed, "import %s: not a regular file", path)
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxTrustedFile+1))
	if err != nil {
		return t, err
	}
	switch ext := filepath.Ext(path); ext {
	case ".toml":
		t, err = trust.ParseTrustedTOML(raw)
	default:
		t, err = trust.ParseTrustedPEM(strings.TrimSuffix(filepath.Base(path), ext), raw)
	}
	if err != nil {
		e := fault.Wrap(err, "import %s", path)
		e.Hint = fault.HintOf(err)
		return t, e
	}
	return t, nil
}

// compare checks the fingerprints that a person gave: all of them are needed.
func (p *importing) compare() error {
	if len(p.q.Fingerprints) == 0 {
		return nil
	}
	for _, t := range p.pins {
		if !slices.Contains(p.q.Fingerprints, t.Key.String()) {
			return fault.New(fault.Untrusted, "import %s: %s is not among the fingerprints that you gave", p.q.From, t.Key).
				Advise("ask the owner; do not import it unless both agree")
		}
	}
	return nil
}

func (p *importing) question(where []string) rye.Question {
	q := rye.Question{Topic: "import keys", Text: "Believe " + words.Plural(len(p.pins), "key") + " that the ancestor trusted? Nobody vouches for who owns them.",
		Person: len(p.q.Fingerprints) == 0, Mend: fault.Advice("rye trust import %s --namespace … --fingerprint SHA256:… --yes, for each key shown", p.q.From)}
	for _, t := range p.pins {
		q.Lines = append(q.Lines, t.Key.String()+" (the ancestor's "+t.Fingerprint+", owner "+cmp.Or(t.Owner, "unknown")+")")
	}
	q.Lines = append(q.Lines, "for "+strings.Join(p.q.Namespaces, ", ")+" in the "+strings.Join(where, " and "))
	return q
}

func (p *importing) pinned() {
	for i := range p.rep.Keys {
		if p.rep.Keys[i].Status == "would-pin" {
			p.rep.Keys[i].Status = "pinned"
			p.rep.Pinned++
		}
	}
}

// failure returns the first refusal, when files were refused.
func (p *importing) failure() error { return p.first }
