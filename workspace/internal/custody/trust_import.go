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

// Bounds of an import from RYE OS.
const (
	maxTrustedFiles = 1000
	maxTrustedFile  = 16 << 10 // bytes; one more is read, to be refused
)

// ImportPins pins keys that RYE OS trusted, for the given namespaces: RYE OS trusted each of
// them for everything. The keys are shown first; as in Pin a flag may agree only when the
// fingerprints were given. Files are refused one by one; the error is the first refusal, and
// the keys of the other files are pinned.
func ImportPins(ctx context.Context, s *session.Session, q rye.TrustImportRequest) (*rye.TrustImport, error) {
	st, err := trust.LoadStore(s.TrustPath())
	if err != nil {
		return nil, err
	}
	p := importing{q: q, s: s, rep: &rye.TrustImport{DryRun: q.DryRun}, seen: map[trust.PublicKey]bool{}}
	if p.in, err = whereIn(s, q.Space); err != nil {
		return nil, err
	}
	if err := checkPinNamespaces(trust.PublicKey{}, q.Namespaces); err != nil {
		return nil, fault.New(fault.CodeOf(err), "import: no namespace named, and rye trusts a key only for the namespaces that you name").
			Advise("rye trust import %s --namespace <name>", q.From)
	}
	files, err := trustedFiles(q.From)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		p.judge(f, st)
	}
	if len(p.keys) == 0 || q.DryRun {
		return p.rep, p.first
	}
	if err := p.compare(); err != nil {
		return p.rep, err
	}
	if err := s.Ask(ctx, p.question()); err != nil {
		return p.rep, err
	}
	for _, t := range p.keys {
		if err := p.in.declare(s, trust.Pin{Key: t.Key, Namespaces: q.Namespaces}); err != nil {
			return p.rep, err
		}
	}
	if err := trust.Update(s.TrustPath(), p.pinAll); err != nil {
		return p.rep, err
	}
	for i := range p.rep.Keys {
		if k := &p.rep.Keys[i]; k.Status == "would-pin" {
			k.Status = "pinned"
			p.rep.Pinned++
		}
	}
	return p.rep, p.first
}

// trustedFiles lists the files that may be keys: from itself, or in a directory the files that
// RYE OS would have read.
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
	// Files that name an owner come first: of one key in two files the first is used.
	slices.SortStableFunc(files, func(a, b string) int { return strings.Compare(filepath.Ext(b), filepath.Ext(a)) })
	switch {
	case len(files) == 0:
		return nil, fault.New(fault.NotFound, "import %s: no .pem and no .toml file there", from)
	case len(files) > maxTrustedFiles:
		return nil, fault.New(fault.Limit, "import %s: %d files, at most %d", from, len(files), maxTrustedFiles)
	}
	return files, nil
}

// importing holds the keys found so far.
type importing struct {
	q     rye.TrustImportRequest
	rep   *rye.TrustImport
	s     *session.Session
	in    where              // where to trust the keys
	keys  []trust.TrustedKey // keys to pin
	seen  map[trust.PublicKey]bool
	first error // error of the first refused file
}

// judge reports on one file. st is a copy in memory, which takes the pins as a trial.
func (p *importing) judge(path string, st *trust.Store) {
	k := rye.ImportedKey{File: path, Status: "refused"}
	t, err := readTrusted(path)
	if err == nil {
		k.Fingerprint, k.Legacy, k.Owner = t.Key.String(), t.Fingerprint, t.Owner
		switch {
		case p.seen[t.Key]:
			k.Status = "repeated"
		case isDenied(st, t.Key):
			err = fault.New(fault.Revoked, "import %s: you denied %s", path, t.Key).Mend("rye trust allow %s", t.Key)
		case st.IsOwn(t.Key):
			k.Status = "own"
		default:
			if err = p.pinOne(st, t); err == nil {
				k.Status = "would-pin"
				p.keys = append(p.keys, t)
			}
		}
		p.seen[t.Key] = true
	}
	if err != nil {
		k.Error, k.Code = err.Error(), fault.CodeOf(err)
		p.first = cmp.Or(p.first, err)
	}
	p.rep.Keys = append(p.rep.Keys, k)
}

func (p *importing) pinOne(st *trust.Store, t trust.TrustedKey) error {
	return p.in.pin(p.s, st, trust.Pin{Key: t.Key, Name: t.Owner, Namespaces: p.q.Namespaces})
}

func (p *importing) pinAll(st *trust.Store) error {
	for _, t := range p.keys {
		if err := p.pinOne(st, t); err != nil {
			return err
		}
	}
	return nil
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
		return t, fault.Wrap(err, "import %s", path)
	}
	return t, nil
}

// compare checks the fingerprints that a person gave: every key needs one.
func (p *importing) compare() error {
	if len(p.q.Fingerprints) == 0 {
		return nil
	}
	for _, t := range p.keys {
		if !slices.Contains(p.q.Fingerprints, t.Key.String()) {
			return fault.New(fault.Untrusted, "import %s: you gave no fingerprint for %s", p.q.From, t.Key).
				Advise("ask the owner; do not import it unless both agree")
		}
	}
	return nil
}

func (p *importing) question() rye.Question {
	q := rye.Question{Topic: "import keys",
		Text: "Trust " + words.Plural(len(p.keys), "key") + " that RYE OS trusted? Their owners are not proven.",
		Mend: fault.Advice("rye trust import %s --namespace … --fingerprint SHA256:… --yes, for each key shown", p.q.From)}
	if len(p.q.Fingerprints) == 0 {
		q.Flags = []string{"--fingerprint"}
	}
	for _, t := range p.keys {
		q.Lines = append(q.Lines, t.Key.String()+" (RYE OS's "+t.Fingerprint+", owner "+cmp.Or(t.Owner, "unknown")+")")
	}
	q.Lines = append(q.Lines, "for "+strings.Join(p.q.Namespaces, ", ")+" in the "+strings.Join(p.in.places(), " and "))
	return q
}
