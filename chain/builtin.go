package chain

import (
	"strings"

	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/chain/primitive/builtin"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Function names the builtin that does the plan's work; "" for other primitives.
func (p *Plan) Function() string { return p.function }

// Shell names the parameter whose text the plan runs as a shell command, or "". The text is
// unsigned, so the policy analyses it, and a person allows exactly this text.
func (p *Plan) Shell() string { return builtin.Shell(p.function) }

// Starts reports whether a plan's function runs a program of the system.
func (p *Plan) Starts() bool { return builtin.Starts(p.function) }

// Served reports whether a plan's function acts in the process that received the request, instead
// of a process of its own, and returns that function.
func (p *Plan) Served() (f builtin.Served, ok bool) { return builtin.ServedOf(p.function) }

// ours refuses a chain for a served function unless every item is from the standard library. A
// served function has no sandbox, and the id of the library's item decides what its caller may
// do. Another item could put a harmless name before it.
func ours(links []Link, name string) error {
	for _, l := range links {
		if l.Space != objects.System {
			return fault.New(fault.Denied, "plan %s: %s is not in the standard library, and only its tools can have the function %s", links[0].Ref(), l.Ref(), name).
				Advise("execute tool:%s itself", itemOf(name))
		}
	}
	return nil
}

// itemOf returns the id of the library's item for a served function.
func itemOf(name string) string {
	if strings.HasPrefix(name, "registry/") {
		return "rye/" + name
	}
	return "rye/agent/" + name
}

// functionOf reads config.function. The item nearest to the primitive decides, as for a program's
// line. An item above it cannot turn a tool that reads into one that writes.
func functionOf(links []Link) (string, error) {
	for i := len(links) - 1; i >= 0; i-- {
		it := links[i].Verified.Item()
		v, ok := it.Meta.Config["function"]
		if !ok {
			continue
		}
		name, _ := v.(string)
		_, served := builtin.ServedOf(name)
		if !served && !builtin.Known(name) {
			return "", fault.New(fault.Malformed, "plan %s: config.function %q of %s: this version of rye has no such function", links[0].Ref(), paramText(v), it.Ref)
		}
		for _, l := range links[:i] {
			if other, ok := l.Verified.Item().Meta.Config["function"]; ok && other != v {
				return "", fault.New(fault.Malformed, "plan %s: %s names the function %q, and %s below it %q", links[0].Ref(), l.Ref(), paramText(other), it.Ref, name)
			}
		}
		if served {
			return name, ours(links, name)
		}
		return name, nil
	}
	return "", fault.New(fault.Malformed, "plan %s: no item of its chain has a config.function", links[0].Ref())
}

// BuiltinCall returns the primitive's one call for a builtin: program with the function's name as
// its argument, and everything else on its input. program is a rye of this build. BuiltinCall is
// a pure function of the plan and its arguments.
func (p *Plan) BuiltinCall(in Inputs, program, build string) (primitive.Call, error) {
	c := primitive.Call{Argv: []string{program, builtin.Arg, p.function}, Dir: "/", Temp: in.Temp}
	if in.ProjectPath != "" {
		c.Dir = in.ProjectPath
	}
	params := in.Params.JSON
	if len(params) == 0 {
		params = []byte("{}")
	}
	var err error
	c.Stdin, err = encodeJSON(builtin.Input{
		Build: build, Params: params, Project: in.ProjectPath, UserSpace: in.UserSpace, Program: in.Interpreter.Path,
		Protect: in.Protect, Hide: in.Hide,
	})
	if err != nil {
		return c, err
	}
	c.Sandbox, err = p.sandbox(in)
	c.Network = p.networkVars(in, nil)
	limit(&c, p)
	return c, err
}
