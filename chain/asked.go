package chain

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye/chain/consent"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/expr"
)

// A person who answers a question about a run agrees to a Subject only: the plan, the parameters
// and the directory. docs/format/question.md defines both digests.

// Interpreter is the part of a plan's interpreter that a person agrees to.
type Interpreter struct {
	Path string         // "" where there is none
	Sum  objects.Digest // of a project's own program (consent.Interpreter); else zero
}

type planJSON struct {
	Around      []aroundJSON     `json:"around"`
	Interpreter *interpreterJSON `json:"interpreter,omitempty"`
	Links       []linkJSON       `json:"links"`
	Patched     []string         `json:"patched,omitempty"`
	V           int              `json:"v"`
}

type aroundJSON struct {
	Exec   bool   `json:"exec"`
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

type interpreterJSON struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256,omitempty"`
}

type linkJSON struct {
	Path   string `json:"path"`
	Ref    string `json:"ref"`
	SHA256 string `json:"sha256"`
	Space  string `json:"space"`
}

// DigestOf returns the digest of everything that a plan runs: every link with its path, every
// file that it can load, its interpreter, and which of them are patches.
func DigestOf(p *Plan, with Interpreter) objects.Digest {
	j := planJSON{Around: []aroundJSON{}, Links: []linkJSON{}, V: 1}
	for _, l := range p.Links {
		it := l.Verified.Item()
		j.Links = append(j.Links, linkJSON{it.Path, it.Ref.String(), it.Sum.Hex(), l.Space.String()})
	}
	for _, s := range p.Around {
		j.Around = append(j.Around, aroundJSON{s.Exec, s.Path, s.Sum.Hex()})
	}
	j.Patched = PatchedOf(p).Names()
	slices.SortFunc(j.Around, func(a, b aroundJSON) int { return strings.Compare(a.Path, b.Path) })
	if with.Path != "" {
		j.Interpreter = &interpreterJSON{Path: with.Path}
		if !with.Sum.IsZero() {
			j.Interpreter.SHA256 = with.Sum.Hex()
		}
	}
	return digestJSON(j)
}

// Subject is everything that one answer about a run covers.
type Subject struct {
	Plan   objects.Digest // DigestOf
	Params objects.Digest // of Params.JSON, with the defaults filled in
	In     consent.Place  // the project's directory; zero outside of one
}

// Digest identifies the subject. Only the zero Subject has the zero Digest.
func (s Subject) Digest() objects.Digest {
	if s == (Subject{}) {
		return objects.Digest{}
	}
	return digestJSON(struct {
		Born   string `json:"born"`
		Inode  string `json:"inode"`
		Params string `json:"params"`
		Place  string `json:"place"`
		Plan   string `json:"plan"`
		V      int    `json:"v"`
	}{strconv.FormatInt(s.In.Born, 10), strconv.FormatUint(s.In.Inode, 10), s.Params.Hex(), s.In.Key, s.Plan.Hex(), 1})
}

func digestJSON(v any) objects.Digest {
	raw, err := encodeJSON(v)
	if err != nil { // unreachable: v holds only texts, numbers and booleans
		panic(err)
	}
	return objects.DigestOf(raw)
}

// SandboxOf returns what a plan may reach when it runs with in. It needs no RunDir.
func (p *Plan) SandboxOf(in Inputs) (primitive.Sandbox, error) { return p.sandbox(in) }

// Limits returns, in words, the limits of a run of the plan.
func Limits(p *Plan) []string {
	l := LimitsOf(p)
	if l.Time = p.timeoutOf(); l.Time == 0 {
		l.Time = primitive.DefaultTimeout
	}
	return []string{l.String()}
}

// Unsigned returns the parts of a plan's program that no signature and no digest of the plan
// covers. Such a part is a parameter that is run as a program, or a file of the project. Agreeing
// to such a plan with any parameters would mean agreeing to every program.
func (p *Plan) Unsigned(with Interpreter) (why []string) {
	if shell := p.Shell(); shell != "" {
		return []string{"the parameter " + shell + " is a program"}
	}
	if !with.Sum.IsZero() {
		why = append(why, "its interpreter "+with.Path+" lies in the project")
	}
	if p.Primitive() != Subprocess {
		return why
	}
	if names := p.fromParams(p.config.command); len(names) > 0 {
		why = append(why, "its program is a parameter: "+strings.Join(names, ", "))
	}
	for _, t := range append([]string{p.config.command}, p.config.args...) {
		if _, below, ok := strings.Cut(t, "{project_path}"); ok && strings.Trim(below, `/\`) != "" {
			why = append(why, "it is given a file of the project: "+t)
		}
	}
	return append(why, p.paramProgram()...)
}

// paramProgram reports a parameter in the place where an interpreter looks for its program:
// before any verified file.
func (p *Plan) paramProgram() []string {
	if p.config.interpreter == nil && !runsPrograms(p.config.command) {
		return nil
	}
	for _, t := range p.config.args {
		for _, verified := range []string{"{tool_path}", "{program_path}"} {
			if strings.Contains(t, verified) {
				return nil
			}
		}
		if p.config.text != nil && strings.Contains(t, "{command}") {
			return nil // the tool's own text
		}
		if names := p.fromParams(t); len(names) > 0 {
			return []string{"its interpreter is given a parameter as program: " + strings.Join(names, ", ")}
		}
	}
	return nil
}

// runners are programs that run their arguments as programs, by the beginning of their names.
var runners = []string{"sh", "bash", "dash", "ash", "zsh", "ksh", "fish", "pwsh", "python", "pypy", "node", "deno", "bun", "perl", "ruby", "php",
	"lua", "awk", "gawk", "mawk", "tclsh", "env", "xargs", "sudo", "doas", "nohup", "nice", "timeout", "setsid", "find", "ssh", "make", "git", "tar", "npm", "npx", "go", "cargo"}

// runsPrograms reports whether command is one of runners, with any version at the end of its
// name.
func runsPrograms(command string) bool {
	name := strings.TrimRight(strings.TrimSuffix(strings.ToLower(path.Base(strings.ReplaceAll(command, `\`, "/"))), ".exe"), "0123456789.-")
	return slices.Contains(runners, name)
}

var placeholder = regexp.MustCompile(`\$?\{([^{}]*)\}`)

// fromParams returns the names in a template that a caller's parameters can fill. These are
// neither variables of the plan nor variables of the environment.
func (p *Plan) fromParams(template string) (names []string) {
	own := p.variables(Inputs{})
	for _, m := range placeholder.FindAllStringSubmatch(template, -1) {
		if _, ok := own[m[1]]; !ok && m[0][0] != '$' && expr.IsName(m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}
