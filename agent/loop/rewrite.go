package loop

import (
	"math/big"

	"go.starlark.net/syntax"

	"github.com/rye-os/rye/internal/words"
)

// rewriter makes the operations of a program charge for the memory that they request. The
// interpreter counts steps, and one step can request gigabytes: x * y, x + y, x[:], f(*x), a
// method. Each of these becomes a call of a function that charges first (guard.go, methods.go),
// under a name that no program can write, such as "+". rewriter also refuses anything outside the
// language: load, bytes, names that imitate others, and nesting that would need a deep stack.
type rewriter struct {
	name  string
	depth int
	err   error // the first
}

// guarded are the operators whose result may be larger than their operands.
var guarded = map[syntax.Token]syntax.Token{
	syntax.PLUS: syntax.PLUS, syntax.MINUS: syntax.MINUS, syntax.STAR: syntax.STAR,
	syntax.PERCENT: syntax.PERCENT, syntax.PIPE: syntax.PIPE, syntax.LTLT: syntax.LTLT,
}

// assigning are the same operators in the form x op= y.
var assigning = map[syntax.Token]syntax.Token{
	syntax.PLUS_EQ: syntax.PLUS, syntax.MINUS_EQ: syntax.MINUS, syntax.STAR_EQ: syntax.STAR,
	syntax.PERCENT_EQ: syntax.PERCENT, syntax.PIPE_EQ: syntax.PIPE, syntax.LTLT_EQ: syntax.LTLT,
}

func (w *rewriter) refuse(at syntax.Position, format string, args ...any) {
	if w.err == nil {
		w.err = malformed(w.name, at, format, args...)
	}
}

// deeper reports whether n may be visited; leave undoes it.
func (w *rewriter) deeper(n syntax.Node) bool {
	if w.depth++; w.depth > maxCode && w.err == nil {
		w.refuse(syntax.Start(n), "nested deeper than %d levels", maxCode)
	}
	return w.err == nil
}

func (w *rewriter) leave() { w.depth-- }

func (w *rewriter) file(f *syntax.File) { w.stmts(f.Stmts) }

func (w *rewriter) stmts(list []syntax.Stmt) {
	for i, s := range list {
		if !w.deeper(s) {
			return
		}
		list[i] = w.stmt(s)
		w.leave()
	}
}

func (w *rewriter) stmt(s syntax.Stmt) syntax.Stmt {
	switch s := s.(type) {
	case *syntax.AssignStmt:
		return w.assign(s)
	case *syntax.DefStmt:
		w.ident(s.Name)
		w.params(s.Params)
		w.stmts(s.Body)
	case *syntax.ExprStmt:
		s.X = w.expr(s.X)
	case *syntax.IfStmt:
		s.Cond = w.expr(s.Cond)
		w.stmts(s.True)
		w.stmts(s.False)
	case *syntax.ForStmt:
		w.target(s.Vars)
		s.X = w.expr(s.X)
		w.stmts(s.Body)
	case *syntax.ReturnStmt:
		if s.Result != nil {
			s.Result = w.expr(s.Result)
		}
	case *syntax.BranchStmt:
	default: // load, while, and additions of later versions of the language
		w.refuse(syntax.Start(s), "this statement is not in the language of loops")
	}
	return s
}

// assign rewrites x op= y. In place, a list or a dict stays the same value.
func (w *rewriter) assign(s *syntax.AssignStmt) syntax.Stmt {
	w.target(s.LHS)
	s.RHS = w.expr(s.RHS)
	op, ok := assigning[s.Op]
	if !ok {
		return s
	}
	for p, ok := s.LHS.(*syntax.ParenExpr); ok; p, ok = s.LHS.(*syntax.ParenExpr) {
		s.LHS = p.X
	}
	switch x := s.LHS.(type) {
	case *syntax.Ident:
		value := &syntax.Ident{NamePos: x.NamePos, Name: x.Name}
		s.Op, s.RHS = syntax.EQ, call(op.String()+"=", s.OpPos, value, s.RHS)
	case *syntax.IndexExpr:
		return &syntax.ExprStmt{X: call("[]"+op.String()+"=", s.OpPos, x.X, x.Y, s.RHS)}
	}
	return s
}

// target checks the target of an assignment, and rewrites the expressions in it.
func (w *rewriter) target(e syntax.Expr) {
	if !w.deeper(e) {
		return
	}
	defer w.leave()
	switch e := e.(type) {
	case *syntax.Ident:
		w.ident(e)
	case *syntax.ParenExpr:
		w.target(e.X)
	case *syntax.TupleExpr:
		for _, x := range e.List {
			w.target(x)
		}
	case *syntax.ListExpr:
		for _, x := range e.List {
			w.target(x)
		}
	case *syntax.IndexExpr:
		e.X, e.Y = w.expr(e.X), w.expr(e.Y)
	default:
		w.refuse(syntax.Start(e), "want a name, or an element such as x[0], to assign to")
	}
}

func (w *rewriter) params(list []syntax.Expr) {
	for _, p := range list {
		switch p := p.(type) {
		case *syntax.Ident:
			w.ident(p)
		case *syntax.BinaryExpr: // name = default
			w.target(p.X)
			p.Y = w.expr(p.Y)
		case *syntax.UnaryExpr: // *args, **kwargs, or * alone
			if p.X != nil {
				w.target(p.X)
			}
		}
	}
}

// ident restricts names to ASCII: elsewhere, letters of different alphabets look alike.
func (w *rewriter) ident(x *syntax.Ident) {
	for i := range len(x.Name) {
		if x.Name[i] >= 0x80 {
			w.refuse(x.NamePos, "the name %q has letters beyond ASCII", words.Brief(x.Name))
			return
		}
	}
	if len(x.Name) > maxName {
		w.refuse(x.NamePos, "a name of %d bytes, at most %d are allowed", len(x.Name), maxName)
	}
}

func (w *rewriter) exprs(list []syntax.Expr) {
	for i, e := range list {
		list[i] = w.expr(e)
	}
}

func (w *rewriter) expr(e syntax.Expr) syntax.Expr {
	if !w.deeper(e) {
		return e
	}
	defer w.leave()
	switch e := e.(type) {
	case *syntax.Ident:
		w.ident(e)
	case *syntax.Literal:
		w.literal(e)
	case *syntax.ParenExpr:
		e.X = w.expr(e.X)
	case *syntax.TupleExpr:
		w.exprs(e.List)
	case *syntax.ListExpr:
		w.exprs(e.List)
	case *syntax.DictExpr:
		w.exprs(e.List)
	case *syntax.DictEntry:
		e.Key, e.Value = w.expr(e.Key), w.expr(e.Value)
	case *syntax.CondExpr:
		e.Cond, e.True, e.False = w.expr(e.Cond), w.expr(e.True), w.expr(e.False)
	case *syntax.IndexExpr:
		e.X, e.Y = w.expr(e.X), w.expr(e.Y)
	case *syntax.LambdaExpr:
		w.params(e.Params)
		e.Body = w.expr(e.Body)
	case *syntax.UnaryExpr:
		e.X = w.expr(e.X)
	case *syntax.Comprehension:
		w.comprehension(e)
	case *syntax.CallExpr:
		w.call(e)
	case *syntax.DotExpr:
		w.ident(e.Name)
		return call(".", e.Dot, w.expr(e.X), &syntax.Literal{Token: syntax.STRING, TokenPos: e.NamePos, Value: e.Name.Name})
	case *syntax.SliceExpr:
		w.slice(e)
	case *syntax.BinaryExpr:
		e.X, e.Y = w.expr(e.X), w.expr(e.Y)
		if op, ok := guarded[e.Op]; ok {
			return call(op.String(), e.OpPos, e.X, e.Y)
		}
	default:
		w.refuse(syntax.Start(e), "this expression is not in the language of loops")
	}
	return e
}

func (w *rewriter) literal(e *syntax.Literal) {
	if e.Token == syntax.BYTES {
		w.refuse(e.TokenPos, "bytes are not in the language of loops")
	}
	if n, ok := e.Value.(*big.Int); ok && n.BitLen() > maxBits {
		w.refuse(e.TokenPos, "a number of more than %d bits", maxBits)
	}
}

func (w *rewriter) comprehension(e *syntax.Comprehension) {
	e.Body = w.expr(e.Body)
	for _, c := range e.Clauses {
		switch c := c.(type) {
		case *syntax.ForClause:
			w.target(c.Vars)
			c.X = w.expr(c.X)
		case *syntax.IfClause:
			c.Cond = w.expr(c.Cond)
		}
	}
}

func (w *rewriter) call(e *syntax.CallExpr) {
	e.Fn = w.expr(e.Fn)
	for i, a := range e.Args {
		switch a := a.(type) {
		case *syntax.BinaryExpr:
			if a.Op == syntax.EQ { // name = value
				w.target(a.X)
				a.Y = w.expr(a.Y)
				continue
			}
		case *syntax.UnaryExpr:
			if a.Op == syntax.STAR || a.Op == syntax.STARSTAR {
				a.X = call("copy", a.OpPos, w.expr(a.X))
				continue
			}
		}
		e.Args[i] = w.expr(e.Args[i])
	}
}

func (w *rewriter) slice(e *syntax.SliceExpr) {
	e.X = call("copy", e.Lbrack, w.expr(e.X))
	for _, x := range []*syntax.Expr{&e.Lo, &e.Hi, &e.Step} {
		if *x != nil {
			*x = w.expr(*x)
		}
	}
}

// call writes a call of a guard. A program could write the name "copy", so guardName puts a space
// before it.
func call(name string, at syntax.Position, args ...syntax.Expr) syntax.Expr {
	return &syntax.CallExpr{Fn: &syntax.Ident{NamePos: at, Name: guardName(name)}, Lparen: at, Args: args, Rparen: at}
}

func guardName(name string) string { return " " + name }
