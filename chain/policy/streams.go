package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirects judges where a statement's output goes.
func (a *analysis) redirects(s *syntax.Stmt) {
	for _, r := range s.Redirs {
		switch r.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.RdrInOut:
			if to, _ := a.word(r.Word); device(to) {
				a.add("write to device", T4, "> "+to)
			}
		}
	}
	// bash < <(curl ...) and bash <<< "$(curl ...)"
	words, ok := a.words(s)
	if !ok || len(words) == 0 || !runsInput(words) {
		return
	}
	for _, r := range s.Redirs {
		if _, fetched := a.word(r.Word); fetched {
			a.add("pipe to shell", T4, strings.Join(words, " "))
		} else if r.Op == syntax.WordHdoc {
			text, _ := a.word(r.Word)
			a.script(text, 1)
		} else if r.Hdoc != nil {
			text, _ := a.word(r.Hdoc)
			a.script(text, 1)
		}
	}
}

// stages are the commands of a pipeline, first to last.
func stages(s *syntax.Stmt) []*syntax.Stmt {
	if b, ok := s.Cmd.(*syntax.BinaryCmd); ok && (b.Op == syntax.Pipe || b.Op == syntax.PipeAll) {
		return append(stages(b.X), stages(b.Y)...)
	}
	return []*syntax.Stmt{s}
}

// pipe judges a pipeline whose end runs what its beginning fetched or decoded.
func (a *analysis) pipe(b *syntax.BinaryCmd, depth int) {
	all := append(stages(b.X), stages(b.Y)...)
	for i, s := range all[1:] {
		words, ok := a.words(s)
		if !ok || !runsInput(words) {
			continue
		}
		before := all[:i+1]
		if a.brings(before) {
			a.add("pipe to shell", T4, describe(a, all))
			continue
		}
		if text, ok := a.printed(before[0]); ok {
			if len(before) > 1 && a.decodes(before[1]) {
				a.add("encoded command", T4, decoded(text))
				text = decoded(text)
			}
			a.script(text, depth+1)
		}
	}
}

func describe(a *analysis, all []*syntax.Stmt) string {
	var out []string
	for _, s := range all {
		words, _ := a.words(s)
		out = append(out, strings.Join(words, " "))
	}
	return strings.Join(out, " | ")
}

// brings reports whether one of the statements fetches from outside, or decodes
// what is hidden, so that nobody can judge its output here.
func (a *analysis) brings(stmts []*syntax.Stmt) bool {
	found := false
	for _, s := range stmts {
		syntax.Walk(s, func(n syntax.Node) bool {
			c, ok := n.(*syntax.CallExpr)
			if !ok || found {
				return !found
			}
			var words []string
			for _, w := range c.Args {
				// Not a.word: it asks this very question of what is inside.
				words = append(words, plain(w))
			}
			for i := range words {
				name := base(words[i])
				if fetchers[name] || decoder(words[i:]) && i == 0 && a.unseen(stmts) {
					found = true
				}
				if _, wrapped := wrappers[name]; !wrapped && !strings.HasPrefix(words[i], "-") {
					break
				}
			}
			return !found
		})
	}
	return found
}

// unseen reports whether what is decoded does not stand in the text.
func (a *analysis) unseen(stmts []*syntax.Stmt) bool {
	if len(stmts) == 0 {
		return true
	}
	_, shown := a.printed(stages(stmts[0])[0])
	return !shown
}

// plain is a word's literal text.
func plain(w *syntax.Word) string {
	var b strings.Builder
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			b.WriteString(unescape(n.Value, false))
		case *syntax.SglQuoted:
			b.WriteString(n.Value)
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		}
		return true
	})
	return b.String()
}

// decoder reports whether a command turns hidden text into plain text.
func decoder(words []string) bool {
	if len(words) == 0 {
		return false
	}
	switch base(words[0]) {
	case "base64", "base32":
		return option(words[1:], "dD", "--decode")
	case "xxd":
		return option(words[1:], "r", "--revert")
	case "openssl":
		return slices.Contains(words, "-d")
	case "uudecode", "rev":
		return true
	}
	return false
}

// runsInput reports whether a command runs what it reads: a shell or interpreter
// without a script to run instead.
func runsInput(words []string) bool {
	for range 16 {
		if len(words) == 0 {
			return false
		}
		name := base(words[0])
		opts, isWrapper := wrappers[name]
		if !isWrapper {
			break
		}
		words = unwrap(name, opts, words[1:])
	}
	if len(words) == 0 {
		return false
	}
	name := base(words[0])
	if name == "source" || name == "." {
		return len(words) > 1 && (words[1] == "/dev/stdin" || words[1] == "-")
	}
	if !shells[name] && !interpreters[name] || name == "eval" {
		return false
	}
	for i, w := range words[1:] {
		switch {
		case w == "-" || w == "-s" || w == "/dev/stdin":
			return true
		case strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.ContainsAny(w, "ceEm"):
			return false // its program is in its arguments
		case strings.HasPrefix(w, "-"):
		case i > 0 && (words[i] == "-o" || words[i] == "-O"):
		default:
			return false // a file
		}
	}
	return true
}

// function finds the function that only calls itself, twice at a time.
func (a *analysis) function(f *syntax.FuncDecl) {
	if f.Name == nil {
		return // an anonymous one cannot call itself
	}
	calls := 0
	background := false
	syntax.Walk(f.Body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if len(n.Args) > 0 && plain(n.Args[0]) == f.Name.Value {
				calls++
			}
		case *syntax.Stmt:
			background = background || n.Background
		}
		return true
	})
	if calls >= 2 && background {
		a.add("fork bomb", T4, f.Name.Value+"() calls itself twice")
	}
}
