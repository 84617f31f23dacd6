package session

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
)

// Host is what the program around gives to every room: where things lie, what time it
// is, and a person to ask. It is read-only once it is made, and safe for concurrent use.
type Host struct {
	ProjectDir string // that holds .ai/rye.yaml; "" outside a project
	UserDir    string // the user space's base; "" for none
	ConfigDir  string // keys, trust.yaml, policy.yaml
	StateDir   string // what registries were seen to say, and the log of verdicts
	CacheDir   string // may be deleted at any time

	Version  string // of the program; recorded, never trusted
	Offline  bool
	Now      func() time.Time
	Consent  func(ctx context.Context, q rye.Question) (bool, error) // nil refuses everything
	Progress func(text string)                                       // nil is silence
	Heard    func(rye.Verdict)                                       // gets every decision of the policy; may be nil
	System   func() (*space.System, error)                           // the standard library, opened once
}

// At returns the host of another project of the same user; "" is none.
func (h *Host) At(project string) *Host {
	n := *h
	n.ProjectDir = project
	return &n
}

// AIDir is the project's .ai directory.
func (h *Host) AIDir() string { return filepath.Join(h.ProjectDir, ".ai") }

// LockPath is the project's lock.
func (h *Host) LockPath() string { return filepath.Join(h.AIDir(), LockFile) }

// TrustPath is the user's trust store.
func (h *Host) TrustPath() string { return filepath.Join(h.ConfigDir, "trust.yaml") }

// KeyDir is where the user's key files are.
func (h *Host) KeyDir() string { return filepath.Join(h.ConfigDir, "keys") }

// RunsDir is where runs get their files.
func (h *Host) RunsDir() string { return filepath.Join(h.CacheDir, "run") }

// Registries returns where registries are cached, and where it is kept what they were
// seen to say.
func (h *Host) Registries() (cache, state string) {
	return filepath.Join(h.CacheDir, "registries"), filepath.Join(h.StateDir, "registries")
}

// Today is the date, in UTC.
func (h *Host) Today() string { return h.Now().UTC().Format("2006-01-02") }

// Say tells the person how long work goes on.
func (h *Host) Say(text string) {
	if h.Progress != nil {
		h.Progress(text)
	}
}

// Ask puts a question to the person. Without anybody to answer, the answer is no, and
// the error says which flag would have said yes. A question that is too long to be
// judged reaches nobody.
func (h *Host) Ask(ctx context.Context, q rye.Question) error {
	if err := q.Check(); err != nil {
		return err
	}
	if h.Consent == nil {
		return fault.New(fault.Denied, "%s: needs a person's consent, and nobody can be asked here", q.Topic).With(q.Mend)
	}
	ok, err := aside(ctx, func() (bool, error) { return h.Consent(ctx, q) })
	if err != nil {
		return err
	}
	if !ok {
		return fault.New(fault.Denied, "%s: not agreed to", q.Topic).With(q.Mend)
	}
	return nil
}

// Permit refuses the zero Caller, and one that does not hold rye.<verb>. What a verb on
// one item takes besides is asked by Session.Allow.
func (h *Host) Permit(c rye.Caller, verb string) error {
	if err := Named(c, verb); err != nil {
		return err
	}
	caps, err := capabilities(c)
	if err != nil {
		return err
	}
	if !caps.Covers(policy.Cap("rye." + verb)) {
		return fault.New(fault.Denied, "%s: the caller %s does not hold the capability rye.%s", verb, c.Name(), verb)
	}
	return nil
}

// capabilities reads what a caller holds: patterns of docs/format/capability.md, which are
// about items, and plain names of other verbs, such as rye.add and rye.key.list, which
// stand for exactly that verb.
func capabilities(c rye.Caller) (policy.Caps, error) {
	var all policy.Caps
	for _, text := range c.Capabilities() {
		one, err := policy.ParseCap(text)
		if err != nil && namesVerb(text) {
			one, err = policy.Cap(text), nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// namesVerb reports whether text is rye. and a verb, spelled out: words with dots between.
func namesVerb(text string) bool {
	verb, ok := strings.CutPrefix(text, "rye.")
	return ok && !slices.ContainsFunc(strings.Split(verb, "."), func(word string) bool {
		return word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") != ""
	})
}

// Named refuses the zero Caller, on whose behalf nothing is done.
func Named(c rye.Caller, verb string) error {
	if !c.IsZero() {
		return nil
	}
	return fault.New(fault.Denied, "%s: no caller was named: pass rye.Terminal(), rye.Client() or rye.Program(...)", verb)
}

// Ref reads what a person typed: a ref, a published name, or the path of an item's file
// below the project's or the user's .ai.
func (h *Host) Ref(arg string) (objects.Ref, error) {
	ref, err := objects.ParseRef(arg)
	if err == nil {
		return ref, nil
	}
	for _, dir := range []string{h.ProjectDir, h.UserDir} {
		if dir == "" {
			continue
		}
		if p, ok := Below(filepath.Join(dir, ".ai"), arg); ok {
			ref, _, err := objects.RefOfPath(p)
			if err == nil {
				err = objects.CheckExtension(p)
			}
			return ref, err
		}
	}
	return objects.Ref{}, err
}

// Below returns the slash path of file below dir, when it lies there.
func Below(dir, file string) (string, bool) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", false
	}
	rel, err := filepath.Rel(dir, abs)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		// The directory may be reached by another name (a link to /tmp, say).
		real, err1 := filepath.EvalSymlinks(filepath.Dir(abs))
		realDir, err2 := filepath.EvalSymlinks(dir)
		if err1 != nil || err2 != nil {
			return "", false
		}
		rel, err = filepath.Rel(realDir, filepath.Join(real, filepath.Base(abs)))
		if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return "", false
		}
	}
	return filepath.ToSlash(rel), true
}

// SameFile reports whether both paths lead to one file that exists.
func SameFile(a, b string) bool {
	sa, err1 := os.Stat(a)
	sb, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(sa, sb)
}
