package cli

import (
	"context"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/app"
	"github.com/rye-os/rye/internal/bearer"
)

// listenFlags returns the flags of a server over HTTP.
func listenFlags(l *app.Reach) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "http", Destination: &l.Addr, Usage: "serve over HTTP at this `address`, for example 127.0.0.1:8765"},
		&cli.StringFlag{Name: "tls-cert", Destination: &l.Cert, Usage: "`file` with the certificate and its intermediate certificates (PEM)"},
		&cli.StringFlag{Name: "tls-key", Destination: &l.Key, Usage: "`file` with its key (PEM)"},
		&cli.BoolFlag{Name: "behind-proxy", Destination: &l.Proxied, Usage: "a proxy in front provides TLS"},
		repeated("host", &l.Hosts, "host `name` that clients use for the server; repeatable"),
		repeated("origin", &l.Origins, "`origin` of a web page that may call, for example https://app.example.com; repeatable"),
	}
}

// listenArgs returns these flags as arguments for the engine.
func (t *task) listenArgs(l *app.Reach) (args []string, err error) {
	if l.Addr == "" {
		if l.Cert+l.Key != "" || l.Proxied || len(l.Hosts)+len(l.Origins) > 0 {
			return nil, fault.New(fault.Usage, "--tls-cert, --tls-key, --behind-proxy, --host and --origin need --http").Advise("for clients on this machine: --http 127.0.0.1:8765")
		}
		return nil, nil
	}
	if (l.Cert == "") != (l.Key == "") {
		return nil, fault.New(fault.Usage, "--tls-cert and --tls-key go together")
	}
	args = []string{"--http", l.Addr}
	if l.Cert != "" {
		args = append(args, "--tls-cert", t.path(l.Cert), "--tls-key", t.path(l.Key))
	}
	if l.Proxied {
		args = append(args, "--behind-proxy")
	}
	for _, name := range l.Hosts {
		args = append(args, "--host", name)
	}
	for _, origin := range l.Origins {
		args = append(args, "--origin", origin)
	}
	return args, nil
}

func tokenCommand() *spec {
	return &spec{
		name:  "token",
		short: "Manage the tokens of HTTP clients",
		long: `Each client has its own token of 256 random bits, and sends it with each request:
Authorization: Bearer <token>. rye shows it once and keeps only its digest, in a file that
only you can read. Clients with different tokens cannot see each other's sessions,
questions or threads.`,
		examples: "rye mcp token add laptop\nrye mcp token list\nrye mcp token rotate laptop\nrye mcp token remove laptop",
		exits:    tokenExits,
		subs: []*spec{
			{
				name: "add", args: "<client>", min: 1, max: 1,
				short: "Create a token", examples: "rye mcp token add laptop", exits: tokenExits,
				run: func(t *task) error { return t.giveToken("add", bearer.File.Add) },
			},
			{
				name: "list", aliases: []string{"ls"},
				short: "List the clients with a token", examples: "rye mcp token list", exits: tokenExits,
				run: listTokens,
			},
			{
				name: "rotate", args: "<client>", min: 1, max: 1,
				short: "Replace a token",
				long: `The old token stays valid for another 24 hours, so that you can configure the new one in
the client. If a token has leaked, end it at once: rye mcp token remove.`,
				examples: "rye mcp token rotate laptop", exits: tokenExits,
				run: func(t *task) error { return t.giveToken("rotate", bearer.File.Rotate) },
			},
			{
				name: "remove", aliases: []string{"rm"}, args: "<client>", min: 1, max: 1,
				short: "Remove a token, at once", examples: "rye mcp token remove laptop", exits: tokenExits,
				run: removeToken,
			},
		},
	}
}

var tokenExits = []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Auth, fault.Denied, fault.Malformed, fault.Limit}

// tokens returns the file of tokens. It refuses a caller that may not use it.
func (t *task) tokens(verb string) (bearer.File, error) {
	if err := t.env.Caller.May("mcp.token."+verb, time.Now()); err != nil {
		return "", err
	}
	return app.TokenFile(t.env)
}

func (t *task) giveToken(verb string, do func(bearer.File, context.Context, string, time.Time) (*bearer.Made, error)) error {
	f, err := t.tokens(verb)
	if err != nil {
		return err
	}
	made, err := do(f, t.ctx, t.args[0], time.Now())
	if err != nil {
		return err
	}
	return t.out.show(made, func() {
		t.out.printf("%s\n", made.Token)
		t.out.infof("rye shows this only once; the client sends it as Authorization: Bearer <token>")
		if made.Until != "" {
			t.out.infof("the old token is valid until %s", made.Until)
		}
	})
}

// tokenInfo is a token in a list.
type tokenInfo struct {
	Name  string `json:"name"`
	Made  string `json:"made,omitempty"`
	Until string `json:"predecessor_until,omitempty"`
}

func listTokens(t *task) error {
	f, err := t.tokens("list")
	if err != nil {
		return err
	}
	all, err := f.List()
	if err != nil {
		return err
	}
	list := make([]tokenInfo, len(all))
	for i, one := range all {
		list[i] = tokenInfo{Name: one.Name, Made: one.Made}
		if one.Before != nil {
			list[i].Until = one.Before.Until
		}
	}
	return rows(t.out, list, func(i tokenInfo) []any {
		until := ""
		if i.Until != "" {
			until = "the old token is valid until " + i.Until
		}
		return []any{i.Name, i.Made, until}
	})
}

func removeToken(t *task) error {
	f, err := t.tokens("remove")
	if err != nil {
		return err
	}
	if err := f.Remove(t.ctx, t.args[0]); err != nil {
		return err
	}
	return t.out.show(tokenInfo{Name: t.args[0]}, func() { t.out.infof("%s no longer has a token", t.args[0]) })
}
