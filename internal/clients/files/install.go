package files

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/clients"
	"github.com/rye-os/rye/internal/diff"
	"github.com/rye-os/rye/internal/place"
)

// Request is for one client and scope.
type Request struct {
	Client clients.Client
	Scope  clients.Scope
	Server clients.Server // the server for the entry
	Force  bool           // replaces a foreign entry of that name without a question
	DryRun bool
}

// Report is the result of a Request.
type Report struct {
	Client  string        `json:"client"`
	Scope   clients.Scope `json:"scope"`
	Path    string        `json:"path"`
	Status  string        `json:"status"`            // installed, updated, unchanged, removed or absent
	Changes []string      `json:"changes,omitempty"` // to the entry, as lines of a diff; secrets are hidden
	Reason  string        `json:"reason,omitempty"`  // why the entry to be removed is not rye's own
	Copy    string        `json:"copy,omitempty"`    // path of the copy, if a foreign entry was replaced
	DryRun  bool          `json:"dry_run,omitempty"`
}

// Install writes the entry of rye into the client's file. It replaces a foreign entry if a
// person agrees, and keeps a copy of the file. It refuses a text that does not parse
// (fault.Malformed), and a token in a file of a project or a repository (fault.Denied).
func Install(ctx context.Context, c rye.Caller, h *Host, q Request) (*Report, error) {
	return change(ctx, c, h, q, func(f file, raw []byte, e *entry) (result, error) {
		if err := mayHold(f, q.Server); err != nil {
			return result{}, err
		}
		next, err := q.Client.With(raw, q.Server, e.foreign)
		switch {
		case !e.found:
			return result{text: next, status: "installed"}, err
		case bytes.Equal(next, raw):
			return result{text: next, status: "unchanged"}, err
		}
		return result{text: next, status: "updated"}, err
	})
}

// Uninstall removes the entry. If nothing else has changed since rye first wrote the file, it
// restores the original byte for byte. An entry that differs from what rye writes belongs to
// somebody else: Uninstall removes it if a person agrees, and keeps a copy of the file.
func Uninstall(ctx context.Context, c rye.Caller, h *Host, q Request) (*Report, error) {
	return change(ctx, c, h, q, func(f file, raw []byte, e *entry) (result, error) {
		if !e.found {
			return result{text: raw, status: "absent"}, nil
		}
		why, err := h.notOwn(f, raw, e.server)
		if err != nil {
			return result{}, err
		}
		e.foreign, e.why = why != "", why
		text, none, err := h.before(f, raw)
		return result{text: text, none: none, status: "removed", last: true}, err
	})
}

// entry is a client's entry with the name rye.
type entry struct {
	server  clients.Server
	found   bool
	foreign bool   // the entry is not rye's
	why     string // it is foreign; "" for Install
}

// result is the new content of a file.
type result struct {
	text   []byte
	none   bool // the file is to be removed
	status string
	last   bool // the file then has no entry of rye
}

// tries bounds how often a file is read while another program keeps writing it.
const tries = 5

// change reads a file, lets work compute its new content, and writes that. If another program
// wrote the file meanwhile, it starts again.
func change(ctx context.Context, c rye.Caller, h *Host, q Request, work func(file, []byte, *entry) (result, error)) (*Report, error) {
	if err := permit(c); err != nil {
		return nil, err
	}
	if h.State == "" {
		return nil, fault.New(fault.NotFound, "no state directory: HOME is not set")
	}
	f, err := h.file(q.Client, q.Scope)
	if err != nil {
		return nil, err
	}
	for range tries {
		rep, done, err := once(ctx, h, f, q, work)
		if done || err != nil {
			return rep, about(err, f)
		}
	}
	return nil, fault.New(fault.Conflict, "%s: another program keeps writing it", f.path).Advise("quit %s, then try again", q.Client.Title)
}

// about names the file in an error.
func about(err error, f file) error {
	if err == nil || strings.Contains(err.Error(), f.path) {
		return err
	}
	return fault.Wrap(err, "%s", f.path)
}

// once is one try. It asks a person without holding the lock, because an answer takes time.
func once(ctx context.Context, h *Host, f file, q Request, work func(file, []byte, *entry) (result, error)) (rep *Report, done bool, err error) {
	raw, err := f.read()
	if err != nil {
		return nil, false, err
	}
	e, err := look(f, raw, q)
	if err != nil {
		return nil, false, err
	}
	out, err := work(f, raw, &e)
	if err != nil {
		return nil, false, err
	}
	rep = &Report{Client: q.Client.Name, Scope: q.Scope, Path: f.path, Status: out.status, Reason: e.why, DryRun: q.DryRun}
	if bytes.Equal(out.text, raw) && !out.none {
		return rep, true, nil
	}
	rep.Changes = diff.Lines(shown(f.client, raw), shown(f.client, out.text))
	if q.DryRun {
		return rep, true, nil
	}
	if e.foreign && !q.Force {
		if err := agree(ctx, h, f, q, rep); err != nil {
			return nil, false, err
		}
	}
	return h.commit(ctx, f, q, raw, e, out, rep)
}

// commit writes a file, if its bytes have not changed since they were read.
func (h *Host) commit(ctx context.Context, f file, q Request, raw []byte, e entry, out result, rep *Report) (*Report, bool, error) {
	dir := filepath.Join(h.State, "clients")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, false, fault.New(fault.Failed, "make %s: %w", dir, err)
	}
	unlock, err := place.Lock(ctx, filepath.Join(dir, "lock"))
	if err != nil {
		return nil, false, err
	}
	defer unlock()
	if e.foreign {
		if rep.Copy, err = h.copyOf(f, raw); err != nil {
			return nil, false, err
		}
	}
	if !e.found {
		if err := h.keep(f, raw); err != nil {
			return nil, false, err
		}
	}
	if now, err := f.read(); err != nil || !bytes.Equal(now, raw) || (now == nil) != (raw == nil) {
		return nil, false, err
	}
	if !out.last {
		if err := h.note(q.Server); err != nil {
			return nil, false, err
		}
	}
	if out.none {
		err = f.remove()
	} else {
		err = f.write(out.text, q.Server.Token != "")
	}
	if err == nil && out.last {
		h.forget(f)
	}
	return rep, true, err
}

// look reads the existing entry.
func look(f file, raw []byte, q Request) (e entry, err error) {
	e.server, e.found, err = f.client.Entry(raw)
	sameAddress := e.server.URL != "" && (q.Server.URL == "" && q.Server.Command == "" || e.server.URL == q.Server.URL)
	e.foreign = e.found && (!e.server.IsRye() && !sameAddress || laden(f.scope, e.server))
	return e, err
}

// laden reports whether the entry in a project's file has members that rye does not write. A
// cloned project can have an entry that starts rye with its author's variables or directory.
func laden(scope clients.Scope, s clients.Server) bool {
	return scope == clients.Project && len(s.Besides) > 0
}

// mayHold refuses a token in a file that other people would read.
func mayHold(f file, s clients.Server) error {
	if s.Token == "" {
		return nil
	}
	if f.scope != clients.User {
		return fault.New(fault.Denied, "%s belongs to the project, so everyone in it could read the token", f.path).
			Advise("leave --token-file out: the file then names an environment variable")
	}
	if repo := f.inRepository(); repo != "" {
		return fault.New(fault.Denied, "%s lies in the repository %s, which would publish the token", f.path, repo).
			Advise("leave --token-file out: the file then names an environment variable")
	}
	return nil
}

// agree asks a person whether rye may replace or remove a foreign entry.
func agree(ctx context.Context, h *Host, f file, q Request, rep *Report) error {
	verb, why := "install", "that another program made"
	if rep.Status == "removed" {
		verb, why = "uninstall", "that is not as rye writes it ("+rep.Reason+")"
	}
	words := []string{"rye", "mcp", verb, q.Client.Name}
	if q.Scope != clients.User {
		words = append(words, "--scope", string(q.Scope))
	}
	question := rye.Question{
		Topic: map[string]string{"install": "replace", "uninstall": "remove"}[verb] + " the entry " + clients.Name + " of " + q.Client.Title,
		Text:  fmt.Sprintf("%s has an entry %s %s; rye keeps a copy of the file", f.path, clients.Name, why),
		Lines: rep.Changes,
		Mend:  fault.CommandOf(append(words, "--force")...),
	}
	if err := question.Check(); err != nil {
		return err
	}
	if h.Ask == nil {
		return fault.New(fault.Denied, "%s: rye cannot ask here", question.Topic).With(question.Mend)
	}
	yes, err := h.Ask(ctx, question)
	if err == nil && !yes {
		err = fault.New(fault.Denied, "%s: declined", question.Topic).With(question.Mend)
	}
	return err
}

// shown returns the entry in a text, for people; "" when it cannot be read.
func shown(c clients.Client, raw []byte) string {
	text, err := c.Shown(raw)
	if err != nil {
		return ""
	}
	return text
}
