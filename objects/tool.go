package objects

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/rye-os/rye/internal/words"
)

// tool reads the fields of a tool. A field that limits or directs execution must have
// the right form, or the tool is refused: rye never skips such a field.
func (p *parser) tool(m *Meta) error {
	var err error
	if m.ToolType, err = p.text("tool_type"); err != nil {
		return err
	}
	if err := p.executor(m); err != nil {
		return err
	}
	m.Part = !p.tooled && !p.ryeOS && !bytes.HasPrefix(p.body, []byte("#!"))
	p.infer(m)
	if err := p.needs(m); err != nil {
		return err
	}
	limits, err := p.mapping("limits")
	if err != nil {
		return err
	}
	var wrong string
	if m.Limits, wrong = limitsOf(limits); wrong != "" && inert(p.fields, m) {
		m.Limits = Limits{} // data with a field of that name: it bounds no run
	} else if wrong != "" {
		return p.badField("limits", "%s", wrong)
	}
	for _, f := range []struct {
		name string
		into *map[string]any
	}{
		{"config_schema", &m.Schema}, {"config", &m.Config}, {"env_config", &m.Env},
		{"anchor", &m.Anchor}, {"verify_deps", &m.VerifyDeps},
	} {
		if *f.into, err = p.mapping(f.name); err != nil {
			return err
		}
	}
	if m.Schema == nil {
		m.Schema, err = p.mapping("input_schema")
	}
	return err
}

// executor reads executor_id, which is an id or, for a primitive, null.
func (p *parser) executor(m *Meta) error {
	v, ok := p.fields["executor_id"]
	if !ok || v == nil {
		return nil
	}
	s, ok := v.(string)
	if !ok {
		return p.badField("executor_id", "want an id, have %s", Shape(v))
	}
	if s == "" {
		return nil
	}
	id, err := ParseID(s)
	if err != nil {
		return p.badField("executor_id", "%v", err)
	}
	m.Executor = id
	return nil
}

// needs reads the access that the tool needs in the sandbox: read and write are lists
// of paths; net is a list of hosts, true for any, or false for none; listen is a list of ports;
// rye is a list of capabilities; sandbox is the lowest degree of sandbox.
func (p *parser) needs(m *Meta) error {
	v, ok := p.fields["needs"]
	if !ok {
		return nil
	}
	fields, isMap := v.(map[string]any)
	if !isMap {
		return p.badField("needs", "want a mapping of read, write, net, listen and rye, have %s", Shape(v))
	}
	_, only := fields["sandbox"]
	n := Needs{Declared: !only || len(fields) > 1}
	for _, key := range sortedKeys(fields) {
		v := fields[key]
		var err error
		switch key {
		case "read":
			n.Read, err = p.stringList("needs", v)
		case "write":
			n.Write, err = p.stringList("needs", v)
		case "net":
			switch v := v.(type) {
			case bool:
				if v {
					n.Net = []string{"*"}
				}
			default:
				n.Net, err = p.stringList("needs", v)
			}
		case "listen":
			n.Listen, err = p.ports(v)
		case "rye":
			n.Rye, err = p.callsBack(v)
		case "sandbox":
			if n.Sandbox, _ = v.(string); n.Sandbox != "S1" && n.Sandbox != "S2" && n.Sandbox != "S3" {
				err = p.badField("needs", "sandbox: want S1, S2 or S3")
			}
		default:
			err = p.badField("needs", "%q is not known; want read, write, net, listen, rye and sandbox", words.Brief(key))
		}
		if err != nil {
			return err
		}
	}
	m.Needs = n
	return nil
}

// ports reads a list of TCP ports, as numbers or as texts.
func (p *parser) ports(v any) ([]string, error) {
	all, ok := v.([]any)
	if !ok && v != nil {
		all = []any{v}
	}
	var out []string
	for _, e := range all {
		text := fmt.Sprint(e)
		if _, isMap := e.(map[string]any); isMap || !validPort(text) {
			return nil, p.badField("needs", "listen: %q: want a port from 1024 to 65535", words.Brief(text))
		}
		out = append(out, text)
	}
	if len(out) > maxListen {
		return nil, p.badField("needs", "listen: %d ports, at most %d", len(out), maxListen)
	}
	return out, nil
}

// maxListen bounds needs.listen.
const maxListen = 16

// validPort reports whether a text is a port of needs.listen, in its one spelling. Lower ports belong
// to the system's services.
func validPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n >= 1024 && strconv.FormatUint(n, 10) == s
}

// maxCallsBack bounds needs.rye. A token holds the list once for each tool that calls another.
const maxCallsBack = 32

// callsBack reads the capabilities with which a tool calls rye back (docs/format/callback.md).
// Each must name one of the four verbs for items. A pattern for the verb is refused, because a
// person must be able to read what the tool may do.
func (p *parser) callsBack(v any) ([]string, error) {
	all, err := p.stringList("needs", v)
	if err != nil {
		return nil, err
	}
	if why := callsBackFault(all); why != "" {
		return nil, p.badField("needs", "%s", why)
	}
	return all, nil
}

// callsBackFault says what is wrong with capabilities for needs.rye; "" for nothing.
func callsBackFault(all []string) string {
	if len(all) > maxCallsBack {
		return fmt.Sprintf("rye: %d capabilities, at most %d are allowed", len(all), maxCallsBack)
	}
	for _, c := range all {
		verb, _, _ := strings.Cut(strings.TrimPrefix(c, "rye."), ".")
		if why := CheckCapability(c); why != "" || !verbs[verb] {
			return fmt.Sprintf("rye: %q: %s", words.Brief(c), cmp.Or(why, "want the verb execute, search, load or sign, spelled out"))
		}
	}
	return ""
}
