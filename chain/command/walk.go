package command

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A machine walks through one text as a shell would, with values in place of data. It takes both
// branches of an if, and each loop once for every known word.
type machine struct {
	*analysis
	vars  variables
	files files
	open  descriptors
	funcs functions

	remote  bool   // the commands are for another machine
	by      string // the program that starts the next one, if that one gives its user a shell
	windows bool   // backslashes stand in paths
	depth   int    // of texts inside texts
	nest    int    // of statements inside statements
}

// stmts runs statements one after the other and returns their output.
func (m *machine) stmts(list []*syntax.Stmt, in value) (out value) {
	for _, s := range list {
		out = join(out, m.stmt(s, in))
	}
	return out
}

func (m *machine) stmt(s *syntax.Stmt, in value) (out value) {
	if s == nil || !m.spend(1) {
		return value{}
	}
	if m.nest++; m.nest > maxNest {
		m.flag("too-deep", "statements within statements")
		m.nest--
		return value{}
	}
	defer func() { m.nest-- }()
	if len(s.Redirs) == 0 {
		return m.cmd(s.Cmd, in)
	}
	d := m.directions(s, in)
	if s.Cmd == nil {
		out = d.in // $(< file)
	} else {
		out = m.cmd(s.Cmd, d.in)
	}
	if out.text != "" {
		m.spend(len(out.text))
	}
	return m.redirected(s, d, out)
}

func (m *machine) cmd(c syntax.Command, in value) (out value) {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return m.walkCall(c, in)
	case *syntax.Block:
		return m.stmts(c.Stmts, in)
	case *syntax.Subshell:
		cwd := m.files.here()
		out = m.stmts(c.Stmts, in)
		m.files.enter(cwd)
		return out
	case *syntax.BinaryCmd:
		out = m.stmt(c.X, in)
		if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			return m.stmt(c.Y, out)
		}
		return join(out, m.stmt(c.Y, in))
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			m.stmts(c.Cond, in)
			out = join(out, m.stmts(c.Then, in))
		}
		return out
	case *syntax.WhileClause:
		m.stmts(c.Cond, in)
		return m.stmts(c.Do, in)
	case *syntax.ForClause:
		return m.walkLoop(c, in)
	case *syntax.CaseClause:
		m.word(c.Word)
		for _, i := range c.Items {
			out = join(out, m.stmts(i.Stmts, in))
		}
		return out
	case *syntax.TimeClause:
		return m.stmt(c.Stmt, in)
	case *syntax.CoprocClause:
		return m.stmt(c.Stmt, in)
	case *syntax.FuncDecl:
		m.noteFunction(c)
	case *syntax.DeclClause:
		for _, a := range c.Args {
			m.assign(a)
		}
		if len(c.Args) == 0 || slices.ContainsFunc(c.Args, func(a *syntax.Assign) bool {
			return a.Naked && a.Value != nil && strings.HasPrefix(a.Value.Lit(), "-p")
		}) {
			return value{from: secret} // the environment
		}
	default:
		m.walkWithin(c)
	}
	return value{}
}

// walkWithin runs the command substitutions inside tests and arithmetic.
func (m *machine) walkWithin(n syntax.Node) {
	if n == nil {
		return
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CmdSubst); ok {
			m.stmts(c.Stmts, value{})
			return false
		}
		return true
	})
}

func (m *machine) walkLoop(c *syntax.ForClause, in value) (out value) {
	iter, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		m.walkWithin(c.Loop)
		return m.stmts(c.Do, in)
	}
	items := m.fields(iter.Items)
	if len(items) == 0 {
		items = []value{{from: partial}}
	}
	for _, v := range items {
		m.vars[iter.Name.Value] = []value{v}
		out = join(out, m.stmts(c.Do, in))
	}
	return out
}

// noteFunction records a function. A function that calls itself twice, with a part in the
// background, is a fork bomb.
func (m *machine) noteFunction(f *syntax.FuncDecl) {
	if f.Name == nil {
		return // an anonymous function cannot call itself
	}
	name := f.Name.Value
	m.funcs.define(name, f.Body)
	calls, background := 0, false
	syntax.Walk(f.Body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if len(n.Args) > 0 && n.Args[0].Lit() == name {
				calls++
			}
		case *syntax.Stmt:
			background = background || n.Background
		}
		return true
	})
	if calls >= 2 && background {
		m.flag("fork-bomb", name+"() calls itself twice")
	}
}

// invoke runs a function with the arguments of its call.
func (m *machine) invoke(f *function, args []value, in value) value {
	if f.active {
		return value{}
	}
	f.called, f.active = true, true
	saved := m.vars.arguments(args)
	out := m.stmt(f.body, in)
	m.vars.restore(saved)
	f.active = false
	return out
}

// judgeUncalled analyses the functions without a call in the text, because another script may
// source it.
func (m *machine) judgeUncalled() {
	for f := range m.funcs.uncalled() {
		f.called, f.active = true, true
		m.stmt(f.body, value{})
		f.active = false
	}
}

func (m *machine) assign(a *syntax.Assign) {
	if a.Naked || a.Name == nil {
		m.word(a.Value)
		return
	}
	var list []value
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			list = append(list, m.split(e.Value)...)
		}
	} else {
		list = []value{m.word(a.Value)}
	}
	name := a.Name.Value
	if old := m.vars[name]; a.Append && a.Array != nil {
		list = append(slices.Clip(old), list...)
	} else if a.Append && len(old) == 1 {
		list = []value{join(old[0], list[0])}
	}
	if len(list) > 0 {
		m.vars[name] = list
		m.noteVariable(name, list[0])
	}
}

// walkCall runs one simple command after recording its assignments.
func (m *machine) walkCall(c *syntax.CallExpr, in value) value {
	if len(c.Args) == 0 {
		for _, a := range c.Assigns {
			m.assign(a)
		}
		return value{}
	}
	for _, a := range c.Assigns {
		if a.Name != nil && a.Value != nil {
			m.noteVariable(a.Name.Value, m.word(a.Value))
		}
	}
	before := m.windows
	m.windows = windowsProgram(c.Args[0].Lit())
	words := m.fields(c.Args)
	m.windows = before
	return m.command(words, in)
}

// processFile returns the name for <(commands) or >(commands).
func (m *machine) processFile(p *syntax.ProcSubst) string {
	name := "/dev/fd/p" + string(rune('0'+m.files.count()%10)) + string(rune('a'+m.open.count()%26))
	if p.Op == syntax.CmdOut {
		m.open.attach(name, p)
		return name
	}
	m.files.put(name, m.stmts(p.Stmts, value{}))
	return name
}

// directions are the input and output of a statement.
type directions struct {
	in       value
	out      string // the output file; "" without one
	append   bool
	quiet    bool // its output goes elsewhere
	net      bool // it writes to a connection
	fromNet  bool
	resource string // the words of the connection
}

func (m *machine) directions(s *syntax.Stmt, in value) directions {
	d := directions{in: in}
	for _, r := range s.Redirs {
		n := "1"
		if r.N != nil {
			n = strings.Trim(r.N.Value, "{}")
		}
		if r.Hdoc != nil {
			d.in = m.word(r.Hdoc)
			continue
		}
		to := m.word(r.Word)
		switch r.Op {
		case syntax.WordHdoc:
			d.in = value{to.text + "\n", to.from}
		case syntax.RdrIn:
			d.in = m.files.read(to.text)
			if c, ok := s.Cmd.(*syntax.CallExpr); ok && r.N != nil && len(c.Args) == 1 && c.Args[0].Lit() == "exec" {
				m.vars["fd "+strings.Trim(r.N.Value, "{}")] = []value{d.in}
			}
			d.fromNet = d.fromNet || connection(to.text)
		case syntax.DplIn:
			if m.open.connected(to.text) {
				d.in, d.fromNet, d.resource = value{from: fetched}, true, "descriptor "+to.text
			} else if v, ok := m.vars["fd "+to.text]; ok {
				d.in = v[0]
			}
		case syntax.DplOut:
			if m.open.connected(to.text) {
				d.net, d.quiet, d.resource = true, true, "descriptor "+to.text
			} else if strings.Trim(to.text, "0123456789-") == "" {
				d.quiet = d.quiet || n == "1"
			} else {
				m.noteOutput(&d, to.text, n)
			}
		default:
			if r.Op == syntax.RdrInOut {
				d.fromNet = d.fromNet || connection(to.text)
			}
			if connection(to.text) {
				m.noteConnection(s, r, to.text)
			}
			d.append = r.Op == syntax.AppOut || r.Op == syntax.AppAll
			m.noteOutput(&d, to.text, n)
		}
	}
	return d
}

// noteOutput records one output file of a statement.
func (m *machine) noteOutput(d *directions, to, n string) {
	switch {
	case connection(to):
		d.net, d.resource = true, to
	case n == "1":
		d.out = to
	default:
		m.writes(to, value{}, true)
	}
	d.quiet = d.quiet || n == "1"
}

// noteConnection records exec 5<>/dev/tcp/host/port.
func (m *machine) noteConnection(s *syntax.Stmt, r *syntax.Redirect, to string) {
	if c, ok := s.Cmd.(*syntax.CallExpr); ok && r.N != nil && len(c.Args) == 1 && c.Args[0].Lit() == "exec" {
		m.open.connect(strings.Trim(r.N.Value, "{}"))
	}
}

// redirected sends the output of a statement to its redirections.
func (m *machine) redirected(s *syntax.Stmt, d directions, out value) value {
	if d.net || d.fromNet {
		switch name := m.programOf(s); {
		case shells.has(name):
			m.flag("reverse-shell", name+" at "+d.resource)
		case out.is(secret):
			m.flag("secrets-leave", name+" > "+d.resource)
		case d.net && out.is(answers):
			m.flag("reverse-shell", name+" at "+d.resource)
		}
	}
	if d.out != "" {
		if !d.append && silent(s.Cmd) {
			m.happens(">emptied", []value{{text: m.files.spelled(d.out)}}, value{}, "> "+d.out)
		}
		m.writes(d.out, out, d.append)
	}
	if d.quiet {
		return value{}
	}
	return out
}

// silent reports whether a command only empties the file that its output goes to.
func silent(c syntax.Command) bool {
	call, ok := c.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return c == nil
	}
	name := call.Args[0].Lit()
	return len(call.Args) == 1 && (name == ":" || name == "true") || len(call.Args) == 2 && name == "cat" && call.Args[1].Lit() == "/dev/null"
}

// programOf returns the name of the program that a statement runs, without wrappers.
func (m *machine) programOf(s *syntax.Stmt) string {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 {
		return ""
	}
	args := m.fields(c.Args)
	for range maxWrappers {
		if len(args) == 0 {
			return ""
		}
		w, ok := wrapper(base(args[0].text))
		if !ok {
			return base(args[0].text)
		}
		args = w.unwrap(args[1:])
	}
	return ""
}
