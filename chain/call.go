package chain

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/rye-os/rye/chain/network"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Inputs are the values that turn a plan into a call. All paths are absolute and resolved.
type Inputs struct {
	Params      Params
	RunDir      string // where Files were materialised
	Temp        string
	ProjectPath string            // "" outside a project
	UserSpace   string            // its base, the directory that holds .ai
	Interpreter primitive.Program // the one found for Plan.Interpreter; zero when there is none

	// Vars fills the variables that Declares names, from unsigned files and environments. Other
	// variables are ignored.
	Vars map[string]string
	// Weak names the variables in Vars that a file of the project filled. Such a file comes with
	// a clone, so its value does not decide where a secret goes.
	Weak map[string]bool

	Tier    primitive.Tier // required; 0 takes the best available
	Protect []string       // never writable: .ai, .git, stores, caches
	Hide    []string       // never readable: keys, trust, data of other tools
	Open    bool           // a person allowed writes to the paths of Protect inside the project

	Git GitDirs // of a linked worktree or a submodule

	Network network.Found // the user's proxies, mirrors and certificates
}

// GitDirs are the git directories outside of the project that its .git file leads to.
type GitDirs struct {
	File  string   // the .git file; "" for none
	Dirs  []string // readable where the .git file is, and else not writable
	Links []string // the links on the way

	// Write are the directories that a tool may write if its needs name the .git file: what git
	// writes at a commit. The caller protects the parts of them that git executes.
	Write []string
}

// Interpreter returns the interpreter that the chain requests for its tool. It returns false when
// the command is the path of a program.
func (p *Plan) Interpreter() (primitive.Spec, bool) {
	if p.config.interpreter == nil {
		return primitive.Spec{}, false
	}
	return *p.config.interpreter, true
}

// Declares lists, sorted, the variables that unsigned sources may fill for this chain. An
// env_config names each of them, and none can inject code.
func (p *Plan) Declares() []string {
	var out []string
	for name := range p.config.vars {
		if primitive.FromFile(name) {
			out = append(out, name)
		}
	}
	sort.Strings(out)
	return out
}

// Needs returns the chain's needs for the sandbox.
func (p *Plan) Needs() objects.Needs { return p.config.needs }

// Script returns the tool's own shell text for command analysis: config.command, or its file when
// that is a shell script, or "". Command analysis reads it together with the parameters.
func (p *Plan) Script() string {
	if p.config.text != nil {
		return *p.config.text
	}
	it := p.Tool()
	switch path.Ext(it.Path) {
	case ".sh", ".bash":
		return string(it.Body)
	}
	if by := it.Meta.Executor; it.Meta.Program && (by == objects.BashRuntime || by == objects.ShRuntime) {
		return string(it.Body)
	}
	return ""
}

// Files returns the files to materialise: the tool's file and the files around it, with their
// paths below .ai.
func (p *Plan) Files() []primitive.File {
	it := p.Tool()
	out := []primitive.File{{Path: it.Path, Data: it.Raw, Exec: it.Executable() || it.Meta.Program}}
	for _, s := range p.Around {
		out = append(out, primitive.File{Path: s.Path, Data: s.Data, Exec: s.Exec})
	}
	return out
}

// Call returns the primitive's one call. It is a pure function of the plan and its inputs.
func (p *Plan) Call(in Inputs) (primitive.Call, error) {
	s, err := p.scope(in)
	if err != nil {
		return primitive.Call{}, err
	}
	c := primitive.Call{Temp: in.Temp}
	file, data, err := p.main()
	if err != nil {
		return c, err
	}
	if p.config.sealed && primitive.SealedPath != "" {
		c.Sealed = data
		s.values[file] = primitive.SealedPath
	}
	if c.Argv, err = p.argv(s); err != nil {
		return c, err
	}
	if c.Dir, err = p.dir(s, in); err != nil {
		return c, err
	}
	if p.config.stdin != nil {
		text, err := s.fill(*p.config.stdin)
		if err != nil {
			return c, err
		}
		c.Stdin = []byte(text)
	}
	if text, given := in.Params.Values["stdin"].(string); given && p.config.arguments {
		c.Stdin = []byte(text)
	}
	if c.Env, err = p.env(s, in); err != nil {
		return c, err
	}
	if c.Sandbox, err = p.sandbox(in); err != nil {
		return c, err
	}
	c.Network = p.networkVars(in, c.Env)
	limit(&c, p)
	return c, p.fitsExec(&c)
}

// scope collects the names that templates can use. Variables of the plan take precedence over
// parameters, so a parameter called tool_path cannot point elsewhere.
func (p *Plan) scope(in Inputs) (*scope, error) {
	s := &scope{values: maps.Clone(p.config.values), params: in.Params.Values, schema: map[string]bool{}}
	props, _ := p.Tool().Meta.Schema["properties"].(map[string]any)
	for name := range props {
		s.schema[name] = true
	}
	maps.Copy(s.values, in.Params.Values)
	maps.Copy(s.values, p.variables(in))
	for name := range p.variables(in) {
		delete(s.schema, name)
	}
	env := map[string]string{"PROJECT_PATH": in.ProjectPath}
	for _, name := range p.Declares() {
		if v, ok := in.Vars[name]; ok {
			env[name] = v
		}
	}
	if i := p.config.interpreter; i != nil && i.Var != "" {
		env[i.Var] = in.Interpreter.Path
	}
	s.env = env
	// Later names may refer to earlier ones. They are sorted, because a mapping has no order.
	for _, name := range slices.Sorted(maps.Keys(p.config.vars)) {
		if _, filled := in.Vars[name]; filled && primitive.FromFile(name) {
			continue
		}
		v, err := s.fill(p.config.vars[name])
		if err != nil {
			return nil, fault.New(fault.Malformed, "plan %s: env_config.env.%s: %w", p.Tool().Ref, name, err)
		}
		env[name] = v
	}
	return s, nil
}

// variables are the names that RYE OS's templates define.
func (p *Plan) variables(in Inputs) map[string]any {
	tool := filepath.Join(in.RunDir, filepath.FromSlash(p.Tool().Path))
	params := in.Params.JSON
	if len(params) == 0 {
		params = []byte("{}")
	}
	v := map[string]any{
		"tool_path": tool, "tool_dir": filepath.Dir(tool), "tool_parent": filepath.Dir(filepath.Dir(tool)),
		"run_dir": in.RunDir, "project_path": in.ProjectPath, "user_space": in.UserSpace,
		"system_space": "", // compiled in: it has no path
		"params_json":  string(params), "anchor_path": p.anchorPath(in), "interpreter": in.Interpreter.Path,
	}
	if p.config.text != nil {
		v["command"] = *p.config.text
	}
	if p.config.program != "" {
		v["program_path"] = filepath.Join(in.RunDir, filepath.FromSlash(p.beside(p.config.program)))
	}
	return v
}

// beside returns the path below .ai of a file that the tool names.
func (p *Plan) beside(name string) string { return path.Join(path.Dir(p.Tool().Path), name) }

// main returns the bytes of the program that runs, and the template's name for its path. The
// program is the one that the tool names, which must be among its verified files, or the tool's
// own file.
func (p *Plan) main() (name string, data []byte, err error) {
	if p.config.program == "" {
		return "tool_path", p.Tool().Raw, nil
	}
	want := p.beside(p.config.program)
	if want == p.Tool().Path {
		return "program_path", p.Tool().Raw, nil
	}
	for _, s := range p.Around {
		if s.Path == want {
			return "program_path", s.Data, nil
		}
	}
	return "", nil, fault.New(fault.NotFound, "plan %s: its program %q is not among the verified files beside it", p.Tool().Ref, p.config.program).
		Mend("rye sign .ai/%s", path.Dir(p.Tool().Path))
}

func (p *Plan) argv(s *scope) ([]string, error) {
	program, err := s.fill(p.config.command)
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(program) {
		return nil, fault.New(fault.Malformed, "plan %s: command %q is not the absolute path of a program", p.Tool().Ref, program).
			Advise("name an interpreter in env_config.interpreter and use its variable")
	}
	argv := []string{program}
	guarded := p.config.arguments // what stands behind a program belongs to it
	for _, a := range p.config.args {
		guarded = guarded || a == "--"
		more, err := p.argument(s, a, guarded)
		if err != nil {
			return nil, err
		}
		argv = append(argv, more...)
	}
	return argv, nil
}

// argument returns the arguments for one template. That is one argument, except that a parameter
// standing alone may be absent or a list. Standing alone, a caller's value that begins with "-"
// is refused, because the program would read it as an option.
func (p *Plan) argument(s *scope, a string, guarded bool) ([]string, error) {
	name, alone := whole(a)
	_, given := s.params[name]
	if alone && (given || s.schema[name]) && !s.reserved(p, name) {
		var out []string
		v := s.params[name]
		list, isList := v.([]any)
		if !isList && v != nil {
			list = []any{v}
		}
		for _, e := range list {
			t := paramText(e)
			if _, number := e.(json.Number); strings.HasPrefix(t, "-") && !guarded && !number {
				return nil, fault.New(fault.Usage, "run %s: parameter %s begins with - and would be read as an option", p.Tool().Ref, name).
					Advise("in the tool, put -- before {%s} or write --option={%s}", name, name)
			}
			out = append(out, t)
		}
		return out, nil
	}
	text, err := s.fill(a)
	return []string{text}, err
}

// reserved reports whether a name is a variable of the plan and not a parameter.
func (s *scope) reserved(p *Plan, name string) bool {
	_, ok := p.variables(Inputs{})[name]
	return ok
}

func (p *Plan) dir(s *scope, in Inputs) (string, error) {
	dir := p.config.cwd
	if a, ok := p.config.anchor["cwd"].(string); ok && dir == "" && p.anchored() {
		dir = a
	}
	dir, err := s.fill(dir)
	if err != nil {
		return "", err
	}
	switch {
	case dir == "" && in.ProjectPath != "":
		return in.ProjectPath, nil
	case dir == "":
		return in.Temp, nil
	case !filepath.IsAbs(dir):
		return filepath.Join(in.ProjectPath, dir), nil
	}
	return dir, nil
}

// env builds the variables that are added to the clean environment.
func (p *Plan) env(s *scope, in Inputs) (map[string]string, error) {
	out := map[string]string{}
	for name := range p.config.vars {
		out[name] = s.env[name]
	}
	for _, name := range slices.Sorted(maps.Keys(p.config.env)) {
		v, err := s.fill(p.config.env[name])
		if err != nil {
			return nil, err
		}
		out[name] = v
	}
	if p.config.prefix != "" {
		for name, v := range in.Params.Values {
			if t, ok := scalarText(v); ok && !strings.Contains(t, "\x00") {
				out[p.config.prefix+upper(name)] = t
			}
		}
	}
	if err := p.anchorEnv(s, out); err != nil {
		return nil, err
	}
	// A project's own interpreter brings programs of its own.
	if in.Interpreter.Path != "" {
		if _, ok := out["PATH"]; !ok {
			out["PATH"] = filepath.Dir(in.Interpreter.Path) + string(filepath.ListSeparator) + primitive.SafePath
		}
	}
	return out, nil
}

// upper turns a parameter's name into a variable's: letters and digits in upper case, the rest
// "_".
func upper(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, name)
}

// maxString is Linux's limit in bytes for one argument or variable (MAX_ARG_STRLEN, execve(2)).
const maxString = 128<<10 - 1

// fitsExec refuses a call that would otherwise fail with "argument list too long".
func (p *Plan) fitsExec(c *primitive.Call) error {
	for i, a := range c.Argv {
		if len(a) > maxString {
			return p.tooLong(fmt.Sprintf("argument %d", i), len(a))
		}
	}
	for k, v := range c.Env {
		if len(k)+1+len(v) <= maxString {
			continue
		}
		if k == "RYE_PARAMS" || strings.HasPrefix(k, p.config.prefix) && p.config.prefix != "" {
			delete(c.Env, k) // a convenience; the arguments or the input hold the same
			continue
		}
		return p.tooLong("variable "+k, len(v))
	}
	return nil
}

func (p *Plan) tooLong(what string, n int) error {
	return fault.New(fault.Limit, "run %s: %s has %s bytes, a program takes at most %d", p.Tool().Ref, what, strconv.Itoa(n), maxString).
		Advise("pass it on standard input: config.stdin: \"{params_json}\"")
}

// sandbox computes from the needs and the item's origin what the run may reach.
func (p *Plan) sandbox(in Inputs) (primitive.Sandbox, error) {
	writes := p.writesGit(in)
	if !writes {
		in.Protect = slices.Concat(in.Protect, in.Git.Dirs)
	}
	b := primitive.Sandbox{Tier: in.Tier, Protect: in.Protect, Hide: in.Hide}
	if in.Open {
		b.Protect = slices.DeleteFunc(slices.Clone(in.Protect), func(p string) bool { return below(p, in.ProjectPath) })
	}
	if in.RunDir != "" {
		b.Exec = append(b.Exec, in.RunDir)
	}
	b.Exec = append(b.Exec, in.Interpreter.Prefixes...)
	n := p.config.needs
	foreign := p.Links[0].Verified.Scope().Registry != ""
	switch {
	case n.Declared:
	case foreign:
		n.Read = append(slices.Clip(n.Read), ".")
	default:
		n.Read, n.Write = append(slices.Clip(n.Read), "."), append(slices.Clip(n.Write), ".")
	}
	var err error
	if b.Read, err = p.paths(n.Read, in, nil); err != nil {
		return b, err
	}
	if !foreign { // scripts and toolchains of the project; a tool could run copies anyway
		b.Exec = append(b.Exec, b.Read...)
	}
	avoid := in.Hide
	if p.Tool().Meta.Needs.Declared {
		avoid = append(slices.Clip(avoid), in.Protect...)
	}
	if b.Write, err = p.paths(n.Write, in, avoid); err != nil {
		return b, err
	}
	if file := in.Git.File; file != "" && slices.ContainsFunc(slices.Concat(b.Read, b.Write), func(p string) bool { return below(file, p) }) {
		b.Read = slices.Concat(b.Read, in.Git.Dirs, in.Git.Links)
	}
	if writes {
		b.Write = append(slices.DeleteFunc(b.Write, func(p string) bool { return p == in.Git.File }), in.Git.Write...)
	}
	if err := p.network(&b, p.Net()); err != nil {
		return b, err
	}
	if b.Listen, err = p.Listen(); err != nil {
		return b, err
	}
	b.Own = p.Own(in.Tier)
	p.admit(&b, in)
	return b, nil
}

// writesGit reports whether the needs name the .git file of a linked worktree or a submodule, and
// nothing around the git directories that it leads to.
func (p *Plan) writesGit(in Inputs) bool {
	if in.Git.File == "" || len(in.Git.Write) == 0 || !p.config.needs.Declared {
		return false
	}
	all, err := p.paths(p.config.needs.Write, in, nil)
	return err == nil && slices.Contains(all, in.Git.File) && !slices.ContainsFunc(all, func(w string) bool {
		return slices.ContainsFunc(in.Git.Dirs, func(d string) bool { return below(d, w) || below(w, d) })
	})
}

// below reports whether a clean path is dir or is inside it.
func below(path, dir string) bool {
	const sep = string(filepath.Separator)
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, sep)+sep)
}

// WritesAll reports whether a plan's items declare writing to the whole project.
func (p *Plan) WritesAll() bool {
	n := p.config.needs
	return n.Declared && slices.ContainsFunc(n.Write, func(w string) bool { return path.Clean(w) == "." })
}

// paths makes a need's paths absolute. It refuses a path below one of avoid, because the tool
// would otherwise fail later for no visible reason.
func (p *Plan) paths(list []string, in Inputs, avoid []string) ([]string, error) {
	var out []string
	for _, want := range list {
		abs := filepath.FromSlash(want)
		if !filepath.IsAbs(abs) {
			if in.ProjectPath == "" {
				continue
			}
			if clean := path.Clean(want); clean == ".." || strings.HasPrefix(clean, "../") {
				return nil, fault.New(fault.Denied, "run %s: it needs %q, which leaves the project", p.Tool().Ref, want)
			}
			abs = filepath.Join(in.ProjectPath, abs)
		}
		abs = filepath.Clean(abs)
		for _, a := range avoid {
			if below(abs, a) {
				return nil, fault.New(fault.Denied, "run %s: it needs to write %q, which no tool may", p.Tool().Ref, want)
			}
		}
		out = append(out, abs)
	}
	return out, nil
}

// network reads the hosts of a need. The kernel filters by port and not by name. A named host
// therefore opens its port everywhere, and the result of the run reports that.
func (p *Plan) network(b *primitive.Sandbox, hosts []string) error {
	ports := map[uint16]bool{}
	for _, h := range hosts {
		switch {
		case h == "unix":
			b.Unix = true
			continue
		case h == "*":
			b.Net, ports = true, nil
		default:
			b.Net = true
			if !strings.HasPrefix(h, "*:") {
				b.Hosts = append(b.Hosts, h)
			}
			port := h[strings.LastIndexByte(h, ':')+1:]
			n, err := strconv.ParseUint(port, 10, 16)
			if port == h || port == "*" {
				n, err = 443, nil
			}
			if err != nil {
				return fault.New(fault.Malformed, "run %s: needs.net %q: want host, host:port, * or unix", p.Tool().Ref, h)
			}
			if ports != nil {
				ports[uint16(n)] = true
			}
		}
	}
	if b.Net && ports != nil {
		ports[53] = true // long DNS answers come over TCP
		b.Ports = slices.Sorted(maps.Keys(ports))
	}
	return nil
}
