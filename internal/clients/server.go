package clients

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
)

// Server is what an entry tells a client: a program to start, or an address to call.
type Server struct {
	Command string
	Args    []string

	URL   string // of a server over HTTP; then there is no command
	Token string // that is sent to it; see TokenVar for one that is not in the file
	Var   string // the variable of the environment that holds the token instead

	Besides []string // what an entry that was read says in addition: names, sorted
}

// object is a value with members in an order. Those of Usual are written where there is
// none of that name, and stay as they are where there is.
type object []member

type member struct {
	name  string
	value any // string, bool, int, []string or object
	usual bool
}

// shape is how a client writes a server down, where that is not command, args, url and
// headers.
type shape struct {
	before, after   object // of a program
	command, args   string // names; "" is command and args, and args "-" puts them behind the command
	url             string // the name of the address; "" where the client cannot call one
	remote          object // beside an address
	headers, bearer string // "" is headers; bearer is the member that names the token's variable
}

var (
	claudeCode = shape{before: object{{name: "type", value: "stdio"}}, after: object{{"env", object{}, true}},
		url: "url", remote: object{{name: "type", value: "http"}}}
	typed = shape{before: object{{name: "type", value: "stdio"}}, url: "url", remote: object{{name: "type", value: "http"}}}
	zed   = shape{before: object{{name: "source", value: "custom"}}, after: object{{"env", object{}, true}},
		url: "url", remote: object{{name: "source", value: "custom"}}}
	codex    = shape{url: "url", headers: "http_headers", bearer: "bearer_token_env_var"}
	opencode = shape{before: object{{name: "type", value: "local"}}, after: object{{"enabled", true, true}}, args: "-",
		url: "url", remote: object{{name: "type", value: "remote"}, {"enabled", true, true}}}
	goose = shape{command: "cmd",
		before: object{{name: "name", value: Name}, {name: "type", value: "stdio"}},
		after:  object{{"envs", object{}, true}, {"enabled", true, true}, {"timeout", 300, true}},
		url:    "uri", remote: object{{name: "name", value: Name}, {name: "type", value: "streamable_http"}, {"enabled", true, true}, {"timeout", 300, true}}}
	copilot = shape{before: object{{name: "type", value: "stdio"}}, after: object{{"tools", []string{"*"}, true}},
		url: "url", remote: object{{name: "type", value: "http"}, {"tools", []string{"*"}, true}}}
	cline = shape{after: object{{"disabled", false, true}}, url: "url", remote: object{{name: "type", value: "streamableHttp"}, {"disabled", false, true}}}
	kimi  = shape{before: object{{name: "transport", value: "stdio"}}, url: "url", remote: object{{name: "transport", value: "http"}}}
)

// launching are the members, of whatever client, that say what is started or called. An
// entry that becomes one of the other sort loses those that it has no more.
var launching = []string{"type", "transport", "command", "cmd", "args", "url", "uri", "httpUrl", "serverUrl", "headers", "http_headers", "bearer_token_env_var"}

// entry writes s down as the client wants it.
func (c Client) entry(s Server) object {
	f := c.shape
	if s.URL != "" {
		return append(append(object{}, f.remote...), c.address(s)...)
	}
	o := append(object{}, f.before...)
	if f.args == "-" {
		o = append(o, member{name: or(f.command, "command"), value: append([]string{s.Command}, s.Args...)})
	} else {
		o = append(o, member{name: or(f.command, "command"), value: s.Command}, member{name: "args", value: append([]string{}, s.Args...)})
	}
	return append(o, f.after...)
}

func (c Client) address(s Server) object {
	f := c.shape
	o := object{{name: f.url, value: s.URL}}
	switch {
	case s.Var != "" && f.bearer != "":
		return append(o, member{name: f.bearer, value: s.Var})
	case s.Var != "":
		s.Token = fmt.Sprintf(c.ref, s.Var)
	}
	return append(o, member{name: or(f.headers, "headers"), value: object{{name: "Authorization", value: "Bearer " + s.Token}}})
}

// CanCall returns nil where the client can be given a server over HTTP: with the token in
// the file, or, by reference, with the name of a variable. Else it is fault.Usage.
func (c Client) CanCall(reference bool) error {
	if c.shape.url == "" {
		return fault.New(fault.Usage, "%s starts servers, and calls none over HTTP by its configuration", c.Title)
	}
	if reference && c.ref == "" {
		return fault.New(fault.Usage, "%s takes no token from the environment", c.Title).
			Advise("rye mcp install %s --http URL --token-file F, which writes it into your own file", c.Name)
	}
	return nil
}

// read reads an entry; a member that is not there, or of another form, is empty.
func (c Client) read(entry map[string]any) (s Server) {
	f := c.shape
	text := func(v any) string { t, _ := v.(string); return t }
	s.Args = list(entry["args"])
	switch command := entry[or(f.command, "command")].(type) {
	case string:
		s.Command = command
	case []any:
		if all := list(command); len(all) > 0 {
			s.Command, s.Args = all[0], all[1:]
		}
	}
	if f.url != "" {
		s.URL = text(entry[f.url])
	}
	headers, _ := entry[or(f.headers, "headers")].(map[string]any)
	s.Token, _ = strings.CutPrefix(text(headers["Authorization"]), "Bearer ")
	if f.bearer != "" {
		s.Var = text(entry[f.bearer])
	} else if before, after, ok := strings.Cut(c.ref, "%s"); ok && c.ref != "" {
		if name, ok := strings.CutPrefix(s.Token, before); ok && strings.HasSuffix(name, after) {
			s.Token, s.Var = "", strings.TrimSuffix(name, after)
		}
	}
	s.Besides = c.besides(entry)
	return s
}

// besides returns the names of members of an entry that rye does not write, or writes with
// another value. Two clients may share a file, so what rye writes for any of them counts.
func (c Client) besides(entry map[string]any) (names []string) {
	own := append(c.entry(Server{Command: "rye"}), c.entry(Server{URL: "x", Var: "x"})...)
	for name, v := range entry {
		v := generic(v)
		says := func(m member) bool { return m.name == name && (!m.usual || reflect.DeepEqual(v, generic(m.value))) }
		anybody := func(o Client) bool {
			return slices.ContainsFunc(slices.Concat(o.shape.after, o.shape.remote), func(m member) bool { return m.usual && says(m) })
		}
		if !slices.ContainsFunc(own, says) && !slices.ContainsFunc(all, anybody) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func list(v any) (all []string) {
	items, _ := v.([]any)
	for _, item := range items {
		text, ok := item.(string)
		if !ok {
			return nil
		}
		all = append(all, text)
	}
	return all
}

// IsRye reports whether a server is rye's: a program of that name, told to serve MCP.
func (s Server) IsRye() bool {
	base := path.Base(strings.ReplaceAll(s.Command, `\`, "/"))
	if s.URL != "" || base != "rye" && base != "rye.exe" || len(s.Args) == 0 || s.Args[0] != "mcp" {
		return false
	}
	return len(s.Args) == 1 || s.Args[1] == "serve" || strings.HasPrefix(s.Args[1], "-")
}

// Dirs returns the directories that the arguments of a program name: the server's own
// project, and its others.
func (s Server) Dirs() (dirs []string) {
	for i := 1; i < len(s.Args); i++ {
		switch s.Args[i-1] {
		case "-C", "--directory", "--project":
			dirs = append(dirs, s.Args[i])
		}
	}
	return dirs
}

// same reports whether two servers are one: the same program told the same, or the same
// address called with the same token.
func same(a, b Server) bool {
	return a.Command == b.Command && strings.Join(a.Args, "\x00") == strings.Join(b.Args, "\x00") &&
		a.URL == b.URL && a.Token == b.Token && a.Var == b.Var
}
