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
		short: "Tell MCP clients to start rye; without one, show what each knows",
		long: `Writes an entry called rye into the client's own file, and nothing else of it changes:
comments and layout stay, and rye mcp uninstall gives back what was there. Without a client
the clients of this machine are listed, with what they know.

With --scope user, the default, the entry is yours and starts this program. A client that
starts servers in the directory you work in gets no directory, and serves the project that
it is used in; another one gets the project that you are in now. With --scope project it
goes into the project's file, which colleagues share, and starts the rye that is on PATH.

With --http the client calls a running rye mcp serve instead. The token comes from
--token-file, and goes into files of yours only; without it, and in a project, the file
names the variable RYE_MCP_TOKEN, which holds it.

At a terminal you are asked whether the client shows you the questions of servers. If it
does, rye asks through it what your policy wants you to be asked.`,
		examples: "rye mcp install\nrye mcp install claude-code\nrye mcp install cursor vscode --scope project\nrye mcp install claude-desktop -C ./site --project ./shop\nrye mcp install codex --dry-run\nrye mcp install codex --http http://127.0.0.1:7777/mcp --token-file -",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Auth, fault.Denied, fault.Malformed, fault.Limit},
		flags: append(o.clientFlags("replace an entry called rye that is not rye's, and keep a copy of the file"),
			repeated("project", &o.projects, "`directory` of another project that calls may name; repeatable"),
			&cli.BoolFlag{Name: "here", Destination: &o.here, Usage: "serve the project that you are in now, wherever the client starts rye"},
			&cli.StringFlag{Name: "http", Destination: &o.http, Usage: "the `address` of a running rye mcp serve that is called instead"},
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
		short: "Take rye out of the files of MCP clients",
		long: `Takes the entry called rye out. Where nothing else has changed since rye wrote it first,
the file is what it was then, byte for byte; one that rye made goes. With --scope user the
client's answers do not count as yours any more (elicitation in policy.yaml).`,
		examples: "rye mcp uninstall claude-code\nrye mcp uninstall cursor --scope project --dry-run",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Auth, fault.Denied, fault.Malformed, fault.Limit},
		flags:    o.clientFlags("take out an entry called rye that is not rye's, too, and keep a copy of the file"),
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
		return fault.New(fault.Usage, "%s: each client has a token of its own, so that one can be taken back", subject(t.name)).Advise("%s <client> --http URL --token-file F, for each", t.name)
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
		t.out.infof("rye: typing rye does not start this program here, and %s will do as typing does; see rye doctor", o.Client.Title)
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
		t.out.infof("rye: what %s answers does not count as yours any more", told.Client)
	}
	return err
}

// started returns the server for a client that starts it.
func (t *task) started(o clientOptions, program string) (s clients.Server, err error) {
	if o.token != "" {
		return s, fault.New(fault.Usage, "%s: --token-file is for --http", subject(t.name)).With(helpFor(t.name))
	}
	s = clients.Server{Command: program, Args: []string{"mcp"}}
	if o.Scope == clients.Project {
		s.Command = "rye" // a colleague may have it at another path
		if len(o.projects) > 0 || o.here {
			return s, fault.New(fault.Usage, "%s: directories of yours mean nothing to the colleagues who share the project's file", subject(t.name)).
				Advise("leave --project and --here out, or --scope user")
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
		return s, fault.New(fault.Usage, "%s --http: the projects of a server are said where it is started", subject(t.name)).Advise("leave --project and --here out")
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
		return bad("want neither a user nor anything behind the path")
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return bad("a token would cross the network in the clear")
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
	told, err := t.w.Policy().Elicitation(t.ctx, t.env.Caller, rye.ElicitationRequest{Client: c.Calls})
	if err == nil && told.Changed {
		t.out.infof("rye: what %s answers counts as yours; rye mcp uninstall %s takes that back", told.Client, c.Name)
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
		t.out.infof("no MCP client that rye knows is on this machine; rye knows %s", listed(clients.Names()))
	}
	return err
}
