package cli

import (
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/clients"
	"github.com/rye-os/rye/internal/clients/files"
	"github.com/rye-os/rye/internal/words"
)

// tokenVar is the environment variable that holds a client's token, if its file does not.
const tokenVar = "RYE_MCP_TOKEN"

// clientOptions are the user's options for an entry.
type clientOptions struct {
	scope    string
	projects []string
	here     bool
	http     string
	token    string
	files.Request
}

func installCommand() *spec {
	o := clientOptions{scope: string(clients.User)}
	return &spec{
		name: "install", args: "[client…]",
		short: "Register rye in MCP clients; without a client, list them",
		long: `Writes an entry called rye into the client's own file and keeps the rest of it: comments,
layout, other entries. rye mcp uninstall restores the file. Without a client, rye lists
the clients of this machine and their entries.

With --scope user, the default, the entry is in your own file and starts this program. For
a client that starts servers in your working directory, the entry names no directory and
serves the project there. For any other client it names the current project. With --scope
project the entry is in the project's file, which colleagues share, and starts the rye on
their PATH.

With --http the client calls a running rye mcp serve instead. The token comes from
--token-file and is written only into your own files. Without --token-file, and in a
project's file, the entry names the variable RYE_MCP_TOKEN instead.

At a terminal, rye asks whether the client shows you the questions of servers. If it
does, rye can ask you through that client.`,
		examples: "rye mcp install\nrye mcp install claude-code\nrye mcp install cursor vscode --scope project\nrye mcp install claude-desktop -C ./site --project ./shop\nrye mcp install codex --dry-run\nrye mcp install codex --http http://127.0.0.1:7777/mcp --token-file -",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Auth, fault.Denied, fault.Malformed, fault.Limit},
		flags: append(o.clientFlags("replace an entry called rye from another program; a copy of the file is kept"),
			repeated("project", &o.projects, "`directory` of another project that calls may name; repeatable"),
			&cli.BoolFlag{Name: "here", Destination: &o.here, Usage: "always serve the current project, wherever the client starts rye"},
			&cli.StringFlag{Name: "http", Destination: &o.http, Usage: "the `address` of a running rye mcp serve to call instead"},
			&cli.StringFlag{Name: "token-file", Destination: &o.token, Usage: "with --http: `file` with the client's token; - for standard input"},
		),
		max: many,
		run: func(t *task) error {
			if len(t.args) == 0 {
				return t.listClients()
			}
			return t.eachClient(o, tell)
		},
	}
}

func uninstallCommand() *spec {
	o := clientOptions{scope: string(clients.User)}
	return &spec{
		name: "uninstall", args: "<client…>",
		short: "Remove rye from the files of MCP clients",
		long: `Removes the entry called rye. If nothing else has changed since rye first wrote it, the
file is restored byte for byte; a file that rye created is removed. An entry that is not as
rye writes it is removed only after a question, or with --force: one with members of yours,
of another program, or with an address that rye did not write. With --scope user, answers
from this client are no longer accepted as yours (elicitation in policy.yaml).`,
		examples: "rye mcp uninstall claude-code\nrye mcp uninstall cursor --scope project --dry-run",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Auth, fault.Denied, fault.Malformed, fault.Limit},
		flags:    o.clientFlags("also remove an entry that is not as rye writes it; a copy of the file is kept"),
		min:      1, max: many,
		run: func(t *task) error { return t.eachClient(o, untell) },
	}
}

func (o *clientOptions) clientFlags(force string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "scope", Destination: &o.scope, Usage: "whose `file`: user or project"},
		&cli.BoolFlag{Name: "force", Destination: &o.Force, Usage: force},
		dryRun(&o.DryRun),
	}
}

// eachClient calls do for each client in the arguments.
func (t *task) eachClient(o clientOptions, do func(*task, clientOptions) error) error {
	if o.Scope = clients.Scope(o.scope); o.Scope != clients.User && o.Scope != clients.Project {
		return fault.New(fault.Usage, "%s: --scope %q: want user or project", subject(t.name), words.Brief(o.scope))
	}
	var named []clients.Client
	for _, name := range t.args { // check all names before changing the first client
		c, err := clients.Find(name)
		if err != nil {
			return err
		}
		named = append(named, c)
	}
	if len(named) > 1 && o.token != "" {
		return fault.New(fault.Usage, "%s: each client needs its own token, so that you can remove one", subject(t.name)).Advise("%s <client> --http URL --token-file F, for each", t.name)
	}
	var failed []error
	for _, c := range named {
		o.Client = c
		if err := do(t, o); err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) == 0 || len(named) == 1 {
		return errors.Join(failed...)
	}
	for _, err := range failed {
		t.out.report(err)
	}
	return someFailed(fault.CodeOf(failed[0]), len(failed), len(named), "not done")
}

func tell(t *task, o clientOptions) (err error) {
	h := t.env.Clients()
	if o.http != "" {
		o.Server, err = t.called(o)
	} else {
		o.Server, err = t.started(o, h.Rye)
	}
	if err != nil {
		return err
	}
	rep, err := files.Install(t.ctx, t.env.Caller, h, o.Request)
	if err != nil {
		return err
	}
	if err := t.out.show(rep, func() { t.out.printClient(rep) }); err != nil || o.DryRun {
		return err
	}
	if found := h.Lookup("rye"); o.Scope == clients.Project && o.http == "" && found != h.Rye {
		t.out.infof("rye: this program is not the rye on PATH, which %s will start; see rye doctor", o.Client.Title)
	}
	return t.askOfQuestions(o.Client)
}

func untell(t *task, o clientOptions) error {
	rep, err := files.Uninstall(t.ctx, t.env.Caller, t.env.Clients(), o.Request)
	if err != nil {
		return err
	}
	if err := t.out.show(rep, func() { t.out.printClient(rep) }); err != nil || o.DryRun || o.Scope != clients.User || o.Client.Calls == "" {
		return err
	}
	told, err := t.w.Policy().Elicitation(t.ctx, t.env.Caller, rye.ElicitationRequest{Client: o.Client.Calls, Forget: true})
	if err == nil && told.Changed {
		t.out.infof("rye: answers from %s are no longer accepted as yours", told.Client)
	}
	return err
}

// started returns the server for a client that starts it.
func (t *task) started(o clientOptions, program string) (s clients.Server, err error) {
	if o.token != "" {
		return s, fault.New(fault.Usage, "%s: --token-file needs --http", subject(t.name)).With(helpFor(t.name))
	}
	s = clients.Server{Command: program, Args: []string{"mcp"}}
	if o.Scope == clients.Project {
		s.Command = "rye" // a colleague may have it at another path
		if len(o.projects) > 0 || o.here {
			return s, fault.New(fault.Usage, "%s: the project's file is shared, so it cannot name your directories", subject(t.name)).
				Advise("leave out --project and --here, or use --scope user")
		}
		return s, nil
	}
	switch {
	case t.env.Project != "" && (o.here || !o.Client.Follows):
		s.Args = append(s.Args, "-C", t.env.Project)
	case o.here:
		return s, fault.New(fault.NotFound, "%s --here: there is no project here", subject(t.name)).Mend("rye init")
	}
	for _, dir := range o.projects {
		s.Args = append(s.Args, "--project", t.path(dir))
	}
	return s, nil
}

// called returns the server for a client that calls it. A token from rye mcp token would be
// passed here, too, because the source of a token does not matter.
func (t *task) called(o clientOptions) (s clients.Server, err error) {
	if len(o.projects) > 0 || o.here {
		return s, fault.New(fault.Usage, "%s --http: a running server already has its projects", subject(t.name)).Advise("leave out --project and --here")
	}
	if err := address(o.http); err != nil {
		return s, err
	}
	s.URL = o.http
	if o.token == "" {
		s.Var = tokenVar
		return s, o.Client.CanCall(true)
	}
	if s.Token, err = t.tokenIn(o.token); err != nil {
		return s, err
	}
	return s, o.Client.CanCall(false)
}

// address refuses an address that no client should send a token to. Without encryption only
// this machine is allowed.
func address(text string) error {
	u, err := url.Parse(text)
	bad := func(why string) error {
		return fault.New(fault.Usage, "--http %q: %s", words.Brief(text), why).Advise("--http https://host/mcp, or http://127.0.0.1:port/mcp")
	}
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "":
		return bad("want an address that begins with http:// or https://")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.ContainsFunc(text, words.Hidden):
		return bad("want no user, and nothing after the path")
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return bad("the token would be sent unencrypted")
	}
	return nil
}

// maxToken bounds a token, in bytes.
const maxToken = 4096

// tokenIn reads a token: one line of visible ASCII, as in a header.
func (t *task) tokenIn(name string) (string, error) {
	in, err := t.input(name)
	if err != nil {
		if os.IsNotExist(err) {
			return "", fault.New(fault.NotFound, "--token-file %s: %w", name, err)
		}
		return "", fault.New(fault.Usage, "--token-file %s: %w", name, err)
	}
	defer in.Close()
	raw, err := io.ReadAll(io.LimitReader(in, maxToken+2))
	text := strings.TrimRight(string(raw), "\r\n")
	if err != nil || text == "" || len(text) > maxToken || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fault.New(fault.Usage, "--token-file %s: want one line with a token", name)
	}
	return text, nil
}

// askOfQuestions lists the client as one that shows questions to a person, if a person at the
// terminal agrees. No flag can replace the person.
func (t *task) askOfQuestions(c clients.Client) error {
	if c.Calls == "" || t.out.json || !t.screen.InTTY || !t.screen.ErrTTY {
		return nil
	}
	if agent, variable := t.env.Agent(); agent != "" {
		t.out.infof("rye: only a person can accept answers from %s, and %s started this command: the variable %s is set; in a terminal that no agent started, run: rye mcp install %s", c.Calls, agent, variable, c.Name)
		return nil
	}
	told, err := t.w.Policy().Elicitation(t.ctx, t.env.Caller, rye.ElicitationRequest{Client: c.Calls})
	if err == nil && told.Changed {
		t.out.infof("rye: answers from %s are accepted as yours; undo with: rye mcp uninstall %s", told.Client, c.Name)
	}
	return err
}

func (p *printer) printClient(r *files.Report) {
	word := r.Status
	if r.DryRun && len(r.Changes) > 0 {
		word = map[string]string{"installed": "would install", "updated": "would update", "removed": "would remove"}[r.Status]
	}
	p.resultf(r.DryRun, "%s  %s  %s\n", statusMark(word, ""), bold(r.Client), r.Path)
	if r.DryRun {
		for _, line := range r.Changes {
			p.printf("    %s\n", prose(line))
		}
	}
	if r.DryRun && r.Reason != "" {
		p.printf("    %s; rye asks first\n", prose(r.Reason))
	}
	if r.Copy != "" {
		p.printf("  %-13s  %s\n", "before", r.Copy)
	}
}

// listClients shows the clients on this machine, and all clients with an entry for rye.
func (t *task) listClients() error {
	states, err := files.States(t.env.Caller, t.env.Clients())
	if err != nil {
		return err
	}
	var shown []files.State
	for _, s := range states {
		if s.Found && s.Scope == clients.User || s.State != files.Absent {
			shown = append(shown, s)
		}
	}
	err = rows(t.out, shown, func(s files.State) []any {
		mark := faint(s.State)
		switch s.State {
		case files.Known:
			mark = good(s.State)
		case files.Stale, files.Other, files.Unknown:
			mark = warning(s.State)
		}
		return []any{mark, bold(s.Client), string(s.Scope), s.Path, prose(s.Text)}
	})
	if err == nil && len(shown) == 0 {
		t.out.infof("no known MCP client is on this machine; rye knows %s", listed(clients.Names()))
	}
	return err
}
