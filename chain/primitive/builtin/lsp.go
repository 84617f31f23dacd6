package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Bounds of an answer of lsp; the bytes of the output are RYE OS's.
const (
	lspSeconds     = 30
	lspMostSeconds = 120
	maxDiagnostics = 500
	maxDiagnosis   = 2000 // bytes of one message
	maxLSPOutput   = 32768
)

type lspParams struct {
	FilePath string   `json:"file_path"`
	Linters  []string `json:"linters"` // RYE OS's word for the servers
	Timeout  *int     `json:"timeout"` // seconds
}

type lspAnswer struct {
	Success     bool         `json:"success"`
	Output      string       `json:"output"` // the diagnostics, one a line
	Diagnostics []diagnostic `json:"diagnostics"`
	Checked     []string     `json:"linters_checked"`
	FileType    string       `json:"file_type,omitempty"`
	Truncated   bool         `json:"truncated"`
}

// diagnostic is one report of a server about a file. Lines and columns are counted in characters,
// from 1.
type diagnostic struct {
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndLine   int    `json:"end_line"`
	EndColumn int    `json:"end_column"`
	Severity  string `json:"severity"` // error, warning, info, hint
	Message   string `json:"message"`
	Code      string `json:"code,omitempty"`
	Source    string `json:"source,omitempty"` // the server, or a part of it
}

// document is the file that a server checks.
type document struct {
	root, uri, rel string
	language       string
	text           string
}

// language is a kind of file, and the servers for it, the best first.
type language struct {
	id      string
	servers []string
}

// languages are the languages by extension. A server has the name of its program.
var languages = map[string]language{
	".go": {"go", []string{"gopls"}},
	".py": {"python", []string{"pyright-langserver", "basedpyright-langserver", "pylsp", "ruff"}}, ".pyi": {"python", []string{"pyright-langserver", "pylsp"}},
	".js": {"javascript", []string{"typescript-language-server"}}, ".jsx": {"javascriptreact", []string{"typescript-language-server"}},
	".ts": {"typescript", []string{"typescript-language-server"}}, ".tsx": {"typescriptreact", []string{"typescript-language-server"}},
	".rs": {"rust", []string{"rust-analyzer"}}, ".c": {"c", []string{"clangd"}}, ".h": {"c", []string{"clangd"}},
	".cpp": {"cpp", []string{"clangd"}}, ".cc": {"cpp", []string{"clangd"}}, ".hpp": {"cpp", []string{"clangd"}},
	".sh": {"shellscript", []string{"bash-language-server"}}, ".bash": {"shellscript", []string{"bash-language-server"}},
	".rb": {"ruby", []string{"ruby-lsp", "solargraph"}}, ".lua": {"lua", []string{"lua-language-server"}},
	".yaml": {"yaml", []string{"yaml-language-server"}}, ".yml": {"yaml", []string{"yaml-language-server"}},
	".json": {"json", []string{"vscode-json-language-server"}}, ".zig": {"zig", []string{"zls"}}, ".tf": {"terraform", []string{"terraform-ls"}},
}

// serverArgs are the arguments that make a program use the protocol on its input and output.
// Other servers need none.
var serverArgs = map[string][]string{
	"pyright-langserver": {"--stdio"}, "basedpyright-langserver": {"--stdio"}, "typescript-language-server": {"--stdio"}, "ruff": {"server"},
	"bash-language-server": {"start"}, "solargraph": {"stdio"}, "yaml-language-server": {"--stdio"}, "vscode-json-language-server": {"--stdio"}, "terraform-ls": {"serve"},
}

// server is a language server on this machine.
type server struct{ name, program string }

// lsp starts a language server on its input and output, opens one file, and returns the server's
// diagnostics. The server runs in the sandbox of this process.
func lsp(ctx context.Context, in Input) (any, error) {
	var q lspParams
	if err := params(in, &q); err != nil {
		return nil, err
	}
	seconds, err := bounded("timeout", q.Timeout, lspSeconds, 1, lspMostSeconds)
	if err != nil {
		return nil, err
	}
	doc, err := openDocument(in, q.FilePath)
	if err != nil {
		return nil, err
	}
	servers, err := serversFor(in, &q)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second)
	defer cancel()
	a := &lspAnswer{Success: true, Diagnostics: []diagnostic{}, FileType: doc.language}
	for _, s := range servers {
		found, err := diagnose(ctx, s, doc)
		if err != nil {
			return nil, err
		}
		a.Checked = append(a.Checked, s.name)
		a.Diagnostics = append(a.Diagnostics, found...)
	}
	a.finish(doc.rel)
	return a, nil
}

// openDocument reads the file in the same way as every function.
func openDocument(in Input, name string) (*document, error) {
	t, p, f, err := openIn(in, name, false)
	if err != nil {
		return nil, err
	}
	defer p.close()
	defer f.Close()
	text, err := readText(f, name)
	if err != nil {
		return nil, err
	}
	kind := languages[strings.ToLower(path.Ext(p.rel))].id
	return &document{root: t.base, uri: fileURI(filepath.Join(t.base, filepath.FromSlash(p.rel))), rel: p.rel, language: cmp.Or(kind, "plaintext"), text: string(text.raw)}, nil
}

// fileURI returns the URI of a file in the protocol's form.
func fileURI(name string) string {
	name = filepath.ToSlash(name)
	if !strings.HasPrefix(name, "/") {
		name = "/" + name // C:/…
	}
	return (&url.URL{Scheme: "file", Path: name}).String()
}

// serversFor finds the servers to use: the one in the item's env_config, or else the caller's
// choice, or else the first one on this machine for the kind of file.
func serversFor(in Input, q *lspParams) ([]server, error) {
	if in.Program != "" {
		name := strings.TrimSuffix(filepath.Base(in.Program), ".exe")
		if len(q.Linters) > 0 && !slices.Contains(q.Linters, name) {
			return nil, fault.New(fault.Usage, "parameters: linters: this tool asks only %s", name)
		}
		return []server{{name, in.Program}}, nil
	}
	wanted, only := languages[strings.ToLower(path.Ext(q.FilePath))].servers, 1
	if len(q.Linters) > 0 {
		wanted, only = q.Linters, len(q.Linters)
	}
	var all []server
	for _, name := range wanted {
		if !known(name) {
			return nil, fault.New(fault.Usage, "parameters: linters: %q is not a language server that rye knows", words.Brief(name)).
				Advise("a tool of yours over the function lsp names any program in env_config.interpreter")
		}
		if program, err := exec.LookPath(name); err == nil && len(all) < only && filepath.IsAbs(program) && !below(program, in.Project) {
			all = append(all, server{name, program})
		}
	}
	switch {
	case len(wanted) == 0:
		return nil, fault.New(fault.NotFound, "no language server is known for %s", path.Ext(q.FilePath))
	case len(all) == 0:
		return nil, fault.New(fault.NotFound, "no language server for this file is here: looked for %s in the system's own directories", strings.Join(wanted, ", ")).
			Advise("install one, or give the path of yours: a tool over the function lsp with env_config.interpreter, as tool:rye/lsp/gopls")
	}
	return all, nil
}

// known reports whether a server in the table has this name. So a caller cannot name any other
// program.
func known(name string) bool {
	for _, l := range languages {
		if slices.Contains(l.servers, name) {
			return true
		}
	}
	return false
}

// finish sorts and bounds the diagnostics, removes duplicates, and writes the output.
func (a *lspAnswer) finish(name string) {
	slices.SortStableFunc(a.Diagnostics, func(x, y diagnostic) int {
		return cmp.Or(cmp.Compare(x.Line, y.Line), cmp.Compare(x.Column, y.Column), cmp.Compare(x.Message, y.Message))
	})
	a.Diagnostics = slices.Compact(a.Diagnostics)
	if len(a.Diagnostics) > maxDiagnostics {
		a.Diagnostics, a.Truncated = a.Diagnostics[:maxDiagnostics], true
	}
	var b strings.Builder
	for _, d := range a.Diagnostics {
		line := fmt.Sprintf("%s:%d:%d: %s: %s", name, d.Line, d.Column, d.Severity, strings.ReplaceAll(d.Message, "\n", " "))
		if d.Code != "" {
			line += " [" + d.Code + "]"
		}
		if b.Len()+len(line) > maxLSPOutput {
			a.Truncated = true
			break
		}
		b.WriteString(line + "\n")
	}
	if a.Output = b.String(); a.Output == "" {
		a.Output = "No issues found in " + name + "\n"
	}
}

// stopped returns the reason why a server did not finish.
func stopped(ctx context.Context, s server, err error, said string) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fault.New(fault.Limit, "%s did not report on the file in time", s.name).Advise("a larger timeout; the first start of a server may be slow")
	case ctx.Err() != nil:
		return ctx.Err()
	}
	if said = words.Clip(strings.TrimSpace(said), 500); said != "" {
		said = ": " + said
	}
	return fault.New(fault.Failed, "%s: %v%s", s.name, err, said)
}
