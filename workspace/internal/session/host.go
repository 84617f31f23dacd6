package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/records"
	"github.com/rye-os/rye/store/space"
)

// Host is the surrounding program's environment for every room: directories, the time, and
// access to a person. It does not change once it is made, and is safe for concurrent use.
type Host struct {
	Home       string   // of the user; the search upwards ends there; "" is unknown
	ProjectDir string   // contains .ai/rye.yaml; "" outside a project
	Over       []string // projects whose policies tighten this one's, too
	Ended      string   // where the search for a project ended early, and why
	UserDir    string   // the user space's base; "" for none
	Dirs
	Records *records.Data // of the user; see records.Open

	Sudo     int  // the user for whom this runs as root; 0 for none
	AnyOwner bool // another user's project is opened, too: nothing in it is trusted or run

	Version   string        // of the program; recorded, never trusted
	Program   func() string // its path, for git to start it; nil, or "" for unknown
	Offline   bool
	Now       func() time.Time
	Consent   func(ctx context.Context, q rye.Question) (bool, error) // nil refuses everything; called by Put only
	NoPerson  bool                                                    // Consent cannot reach a person
	Progress  func(text string)                                       // nil is silence
	Notice    func(text string)                                       // nil is silence; unlike Progress it stays to be read
	OnVerdict func(rye.Verdict)                                       // gets every decision of the policy; may be nil
	System    func() (*space.System, error)                           // the standard library, opened once
	Historian Historian                                               // nil where no versions can be compared
}

// Historian compares the versions of files in a repository, each call within bounds.
// store/gogit has one.
type Historian interface {
	// Blame returns, for each line of a file in a commit, the commit that introduced it.
	Blame(ctx context.Context, r *store.Repo, at store.OID, path string) ([]store.OID, error)

	// Patches calls visit for each file that differs between two commits. For a missing side,
	// from or to is "". It may call hunks, which compares the two, before visit returns.
	Patches(ctx context.Context, r *store.Repo, old, now store.OID, visit func(from, to string, hunks func() ([]string, error)) error) error
}

// At returns the host of another project of the same user; "" is none.
func (h *Host) At(project string) *Host {
	n := *h
	n.ProjectDir, n.Records = project, records.Open(h.Records.Dir()) // which may lie in that project
	return &n
}

// OfAnyOwner returns a host that also opens another user's project: to show it, and to let it
// be named.
func (h *Host) OfAnyOwner() *Host {
	n := *h
	n.AnyOwner = true
	return &n
}

// AnsweredBy returns a host whose questions go to another function.
func AnsweredBy(h *Host, consent func(context.Context, rye.Question) (bool, error)) *Host {
	n := *h
	n.Consent, n.NoPerson = consent, false
	return &n
}

// AIDir is the project's .ai directory.
func (h *Host) AIDir() string { return filepath.Join(h.ProjectDir, ".ai") }

// Layer returns a space of a directory, with the directory's present or future record. project
// is the id of the project, "" for the user space. A record that others may change is
// fault.Auth.
func (h *Host) Layer(look *place.Look, sp objects.Space, dir, project string) (*space.Layer, records.Place, error) {
	l := &space.Layer{Space: sp, Dir: filepath.Join(dir, ".ai")}
	p, err := h.Records.At(look, dir, project)
	if err != nil {
		return nil, p, err
	}
	if l.Store = p.Store(); l.Store != "" {
		if err := look.Owned(l.Store); err != nil {
			return nil, p, err
		}
	}
	l.Ready = func() error { return p.Note(h.Now()) }
	return l, p, nil
}

// LockPath is the project's lock.
func (h *Host) LockPath() string { return filepath.Join(h.AIDir(), LockFile) }

// Today is the date, in UTC, as 2006-01-02.
func (h *Host) Today() string { return h.Now().UTC().Format(time.DateOnly) }

// Tell tells the user a fact that no report holds.
func (h *Host) Tell(text string) {
	if h.Notice != nil {
		h.Notice(text)
	}
}

// Say tells the user about a slow step.
func (h *Host) Say(text string) {
	if h.Progress != nil {
		h.Progress(text)
	}
}

// Ask puts a question to a person. It returns nil for yes. No is fault.Denied, with the flag or
// command for a yes, and so is a host without a person to ask. A question that is too long to
// be judged is fault.Limit and is not asked.
func (h *Host) Ask(ctx context.Context, q rye.Question) error {
	yes, err := Put(ctx, h, q)
	if err == nil && !yes {
		err = NotAgreed(q)
	}
	return err
}

// NotAgreed is the refusal of a request that a person declined.
func NotAgreed(q rye.Question) error {
	err := &rye.Unagreed{How: rye.Declined, Err: fmt.Errorf("%s: declined", q.Topic)}
	return fault.New(fault.Denied, "%w", err).With(q.Mend)
}

// Put is Ask that separates a no (false) from the lack of anyone to ask (fault.Denied).
func Put(ctx context.Context, h *Host, q rye.Question) (bool, error) {
	q.Person = q.Person || len(q.Flags) > 0
	if err := q.Check(); err != nil {
		return false, err
	}
	if h.Consent == nil || unattended(ctx) {
		err := &rye.Unagreed{How: rye.NoWay, Err: fmt.Errorf("%s: a person must agree, and rye cannot ask here", q.Topic)}
		return false, fault.New(fault.Denied, "%w", err).With(q.Mend)
	}
	return yieldTurn(ctx, func(ctx context.Context) (bool, error) { return h.Consent(ctx, q) })
}

// Below returns the slash path of file below dir, when it lies there.
func Below(dir, file string) (string, bool) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", false
	}
	if rel, err := filepath.Rel(dir, abs); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel), true
	}
	// The directory may have another name, such as a link to /tmp.
	parent, err1 := filepath.EvalSymlinks(filepath.Dir(abs))
	dir, err2 := filepath.EvalSymlinks(dir)
	rel, err3 := filepath.Rel(dir, filepath.Join(parent, filepath.Base(abs)))
	if err1 != nil || err2 != nil || err3 != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// SameFile reports whether both paths lead to one file that exists.
func SameFile(a, b string) bool {
	sa, err1 := os.Stat(a)
	sb, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(sa, sb)
}
