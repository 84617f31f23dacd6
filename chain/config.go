package chain

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// config is the merged and typed configuration of a chain. Its texts are still templates.
type config struct {
	command string   // the program
	args    []string // its arguments
	text    *string  // the tool's config.command when a runtime has its own; never a template
	cwd     string
	stdin   *string
	env     map[string]string // config.env: set for the program
	vars    map[string]string // env_config.env: set for the program; unsigned sources may fill it
	prefix  string            // param_env: scalar parameters become variables with this prefix
	timeout time.Duration
	program string // a file beside the tool that is the program
	// arguments says that the caller's parameters are arguments and an input, for a program of a bundle.
	arguments bool

	sealed bool           // the program, or else the tool's file, runs from sealed memory
	values map[string]any // every other key, for {name}

	interpreter *primitive.Spec
	anchor      map[string]any
	deps        map[string]any
	needs       objects.Needs
}

// mergeConfig merges from the primitive to the tool; the item nearer to the tool wins. The
// exception is the program's own line, which only a subprocess has. The item nearest to the
// primitive that has a command decides the program and its arguments. The command of an item
// above it is a text for that program. So a tool cannot replace the interpreter that its runtime
// starts.
func mergeConfig(links []Link) (config, error) {
	runs := links[len(links)-1].Ref().ID == Subprocess
	c := config{env: map[string]string{}, vars: map[string]string{}, values: map[string]any{}}
	var line, lineArgs, withText any
	for i := len(links) - 1; i >= 0; i-- {
		it := links[i].Verified.Item()
		own := maps.Clone(it.Meta.Config)
		if cmd, ok := own["command"]; ok && runs {
			if line == nil {
				line, lineArgs, withText = cmd, own["args"], own["command_args"]
			} else {
				text, ok := cmd.(string)
				if !ok {
					return c, badConfig(it, "command", "a text")
				}
				c.text = &text
			}
			delete(own, "command")
			delete(own, "args")
			delete(own, "command_args")
		}
		if err := c.merge(it, own); err != nil {
			return c, err
		}
	}
	tool := links[0].Verified.Item()
	var ok bool
	if !runs {
		c.needed(links)
		return c, nil
	}
	if c.command, ok = line.(string); !ok || c.command == "" {
		return c, fault.New(fault.Malformed, "plan %s: no item of its chain has a config.command", tool.Ref)
	}
	if c.text != nil && withText != nil {
		lineArgs = withText
	}
	if c.args, ok = texts(lineArgs); !ok {
		return c, badConfig(tool, "args", "a list of texts")
	}
	if tool.Meta.Program {
		if err := c.takeArguments(links[len(links)-2].Verified.Item()); err != nil {
			return c, err
		}
	}
	c.needed(links)
	return c, nil
}

// takeArguments makes the line of a runtime that of a program of a bundle, which knows nothing of
// parameters. The caller's arguments stand in place of all that the runtime gives to a tool behind the
// path of its file, and the input is the caller's (Plan.Call).
func (c *config) takeArguments(runtime *objects.Item) error {
	switch i := slices.Index(c.args, "{tool_path}"); {
	case i >= 0:
		c.args = append(slices.Clone(c.args[:i+1]), programArgs)
	case c.command == "{program_path}":
		c.args = []string{programArgs}
	default:
		return fault.New(fault.Malformed, "plan: %s runs no programs of bundles: config.args does not have {tool_path}", runtime.Ref).Advise("rye show %s", runtime.Ref)
	}
	c.stdin, c.prefix, c.arguments = nil, "", true
	return nil
}

const programArgs = "{args}"

// merge puts one item's keys over the keys of the items below it.
func (c *config) merge(it *objects.Item, own map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(own)) {
		v := own[key]
		ok := true
		switch key {
		case "cwd":
			c.cwd, ok = v.(string)
		case "stdin", "input_data":
			var s string
			s, ok = v.(string)
			c.stdin = &s
		case "param_env":
			c.prefix, ok = v.(string)
			ok = ok && (c.prefix == "" || strings.HasPrefix(c.prefix, "RYE_"))
		case "program":
			c.program, ok = v.(string)
		case "sealed":
			c.sealed, ok = v.(bool)
		case "timeout":
			c.timeout, ok = seconds(v)
		case "env":
			ok = textMap(v, c.env)
		default:
			c.values[key] = v
		}
		if !ok {
			return badConfig(it, key, map[string]string{"timeout": "a number of seconds above 0", "env": "a mapping of texts",
				"param_env": "a prefix that begins with RYE_", "sealed": "true or false"}[key])
		}
	}
	return c.environment(it)
}

// environment reads env_config, anchor and verify_deps. For the interpreter, anchor and
// verify_deps, the item nearest to the tool that has one decides.
func (c *config) environment(it *objects.Item) error {
	if v, ok := it.Meta.Env["env"]; ok && !textMap(v, c.vars) {
		return badConfig(it, "env_config.env", "a mapping of texts")
	}
	if v, ok := it.Meta.Env["interpreter"]; ok {
		m, isMap := v.(map[string]any)
		if !isMap {
			return badConfig(it, "env_config.interpreter", "a mapping")
		}
		s := primitive.Spec{}
		for key, into := range map[string]*string{"type": &s.Type, "var": &s.Var, "binary": &s.Binary, "venv_path": &s.VenvPath,
			"manager": &s.Manager, "version": &s.Version, "fallback": &s.Fallback, "min_version": &s.MinVersion} {
			if v, ok := m[key]; ok {
				if *into, ok = v.(string); !ok {
					return badConfig(it, "env_config.interpreter."+key, "a text")
				}
			}
		}
		if s.MinVersion != "" && !primitive.IsVersion(s.MinVersion) {
			return badConfig(it, "env_config.interpreter.min_version", `numbers joined by dots, in quotes: "22.6"`)
		}
		if v, ok := m["search_paths"]; ok {
			if s.SearchPaths, ok = texts(v); !ok {
				return badConfig(it, "env_config.interpreter.search_paths", "a list of texts")
			}
		}
		c.interpreter = &s
	}
	if it.Meta.Anchor != nil {
		c.anchor = it.Meta.Anchor
	}
	if it.Meta.VerifyDeps != nil {
		c.deps = it.Meta.VerifyDeps
	}
	return nil
}

// needed joins the items' needs for the sandbox. A runtime's needs are added to its tool's needs.
// The default applies only when the tool itself declares none.
func (c *config) needed(links []Link) {
	c.needs = links[0].Verified.Item().Meta.Needs
	for _, l := range links[1:] {
		n := l.Verified.Item().Meta.Needs
		c.needs.Sandbox = max(c.needs.Sandbox, n.Sandbox) // S1 < S2 < S3
		if !n.Declared {
			continue
		}
		c.needs.Read = append(slices.Clip(c.needs.Read), n.Read...)
		c.needs.Write = append(slices.Clip(c.needs.Write), n.Write...)
		c.needs.Net = append(slices.Clip(c.needs.Net), n.Net...)
		c.needs.Listen = append(slices.Clip(c.needs.Listen), n.Listen...)
		c.needs.Rye = append(slices.Clip(c.needs.Rye), n.Rye...)
	}
}

func badConfig(it *objects.Item, key, want string) error {
	if want == "" {
		want = "a text"
	}
	return fault.New(fault.Malformed, "plan: config.%s of %s: want %s", key, it.Ref, want).Advise("rye show %s", it.Ref)
}

// texts reads a list of texts and numbers; nil is an empty list.
func texts(v any) ([]string, bool) {
	if v == nil {
		return nil, true
	}
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	out := make([]string, 0, len(list))
	for _, e := range list {
		s, ok := scalarText(e)
		if !ok {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

func textMap(v any, into map[string]string) bool {
	m, ok := v.(map[string]any)
	if !ok {
		return v == nil
	}
	for k, e := range m {
		s, ok := scalarText(e)
		if !ok {
			return false
		}
		into[k] = s
	}
	return true
}

func seconds(v any) (time.Duration, bool) {
	var s float64
	switch v := v.(type) {
	case int:
		s = float64(v)
	case int64:
		s = float64(v)
	case float64:
		s = v
	}
	// A week is longer than any run, and does not overflow.
	if !(s > 0 && s <= 7*24*3600) {
		return 0, false
	}
	return time.Duration(s * float64(time.Second)), true
}
