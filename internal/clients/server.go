package clients

import (
	"fmt"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
)

// Server is the content of an entry: a program to start, or an address to call.
type Server struct {
	Command string
	Args    []string

	URL   string // of a server over HTTP; then there is no command
	Token string // sent to the URL; "" when Var is set
	Var   string // the environment variable that holds the token instead

	Besides []string // names of the other members in an entry that was read, sorted
}

// object is a value with ordered members. A usual member is only a default: it is written when
// the entry has no member of that name, and an existing one stays unchanged.
type object []member

type member struct {
	name  string
	value any // string, bool, int, []string or object
	usual bool
}

// shape is a client's form of an entry, if it differs from command, args, url and headers.
type shape struct {
	before, after   object // members before and after a program's
	command, args   string // names; "" for command and args; args "-" appends them to the command
	url             string // the name of the address; "" when the client cannot call one
	remote          object // members before an address
	headers, bearer string // "" for headers; bearer is the member with the name of the token's variable
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

// launching are the members, in all clients, for the program to start or the address to call.
// amend removes every one that the new entry does not have.
var launching = []string{"type", "transport", "command", "cmd", "args", "url", "uri", "httpUrl", "serverUrl", "headers", "http_headers", "bearer_token_env_var"}

// entry returns s in the client's form.
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

// CanCall returns nil when the client accepts a server over HTTP, with the token in the file
// or, if reference is set, with the name of a variable. Otherwise it is fault.Usage.
func (c Client) CanCall(reference bool) error {
	if c.shape.url == "" {
		return fault.New(fault.Usage, "%s can only start servers; its configuration has no servers over HTTP", c.Title)
	}
	if reference && c.ref == "" {
		return fault.New(fault.Usage, "%s cannot read a token from the environment", c.Title).
			Advise("rye mcp install %s --http URL --token-file F, to write it into your own file", c.Name)
	}
	return nil
}

// read reads an entry. A missing member, or one of another form, is empty.
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

// besides returns the names of an entry's members that rye does not write, or writes with
// another value. Clients may share a file, so a member that rye writes for any client is not
// reported.
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

// Edited returns why the entry in a text is not the one that rye writes for its server: the
// members that are missing, or that rye does not write with these values. It is "" for rye's own
// entry, and for none. A missing default is no difference, because clients drop defaults.
func (c Client) Edited(raw []byte) (why string, err error) {
	_, entry, err := c.open(raw)
	if entry == nil || err != nil {
		return "", err
	}
	s := c.read(entry)
	want := map[string]any{}
	for _, m := range c.entry(s) {
		want[m.name] = generic(m.value)
		if _, there := entry[m.name]; !there && !m.usual {
			return m.name + " is missing", nil
		}
	}
	var other []string
	for name, v := range entry {
		if w, own := want[name]; own && !reflect.DeepEqual(generic(v), w) || !own && !fixed(s, name, v) {
			other = append(other, name)
		}
	}
	slices.Sort(other)
	if len(other) == 0 {
		return "", nil
	}
	return "rye did not write its " + strings.Join(other, ", "), nil
}

// fixed reports whether rye writes a member with this value for some client, whatever the server.
// Clients may share a file.
func fixed(s Server, name string, v any) bool {
	return slices.ContainsFunc(all, func(o Client) bool {
		members := slices.Concat(o.shape.before, o.shape.after)
		if s.URL != "" {
			members = o.shape.remote
		}
		return slices.ContainsFunc(members, func(m member) bool { return m.name == name && reflect.DeepEqual(generic(v), generic(m.value)) })
	})
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

// IsRye reports whether a server is rye: a program of that name with arguments to serve MCP.
func (s Server) IsRye() bool {
	base := path.Base(strings.ReplaceAll(s.Command, `\`, "/"))
	if s.URL != "" || base != "rye" && base != "rye.exe" || len(s.Args) == 0 || s.Args[0] != "mcp" {
		return false
	}
	return len(s.Args) == 1 || s.Args[1] == "serve" || strings.HasPrefix(s.Args[1], "-")
}

// Usual reports whether the arguments are ones that rye writes into a file of a scope: mcp, and in
// the user's own file the directories of projects.
func (s Server) Usual(scope Scope) bool {
	if len(s.Args) == 0 || s.Args[0] != "mcp" {
		return false
	}
	rest := s.Args[1:]
	for _, flag := range []string{"-C", "--project"} {
		for scope == User && len(rest) > 1 && rest[0] == flag && filepath.IsAbs(rest[1]) {
			if rest = rest[2:]; flag == "-C" {
				break
			}
		}
	}
	return len(rest) == 0
}

// Dirs returns the directories in the arguments of a program: the server's project, and
// further ones.
func (s Server) Dirs() (dirs []string) {
	for i := 1; i < len(s.Args); i++ {
		switch s.Args[i-1] {
		case "-C", "--directory", "--project":
			dirs = append(dirs, s.Args[i])
		}
	}
	return dirs
}

// same reports whether two servers are equal: the same program with the same arguments, or the
// same address with the same token.
func same(a, b Server) bool {
	return a.Command == b.Command && strings.Join(a.Args, "\x00") == strings.Join(b.Args, "\x00") &&
		a.URL == b.URL && a.Token == b.Token && a.Var == b.Var
}
