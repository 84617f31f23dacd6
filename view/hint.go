package view

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Call is a tool call that a model can make unchanged.
type Call struct {
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`
}

// Hint rewrites a hint for a model whose tools are named prefix plus verb: as a Call if one of them
// does it, otherwise as a sentence. It marks hints that need a person. It returns nil for the zero
// Hint.
func Hint(h fault.Hint, prefix string) any {
	switch {
	case h.IsZero():
		return nil
	case h.IsCommand():
		return command(h, prefix)
	}
	first, _, _ := strings.Cut(h.String(), " shows ")
	first = strings.TrimRight(strings.Split(strings.Split(first, ", ")[0], "; ")[0], ".")
	if strings.HasPrefix(first, "rye ") {
		if c, ok := callOf(strings.Fields(first)[1:], prefix); ok {
			return c
		}
	}
	if forPeople.MatchString(h.String()) {
		return "for a person: " + h.String()
	}
	return h.String()
}

// forPeople matches text that a model cannot use: commands and their flags.
var forPeople = regexp.MustCompile(`(^|[\s(])(rye [-a-z]|git [a-z]|mv |chmod |--?[a-z])`)

// forPerson returns a hint for a step that needs a person, even if a model could call it.
func forPerson(h fault.Hint) any {
	if h.IsCommand() {
		return "a person can run: " + h.String()
	}
	return Hint(h, "")
}

func command(h fault.Hint, prefix string) any {
	words := h.Words()
	if words[0] == "rye" {
		if c, ok := callOf(words[1:], prefix); ok {
			return c
		}
		if len(words) > 1 && words[1] == "approve" {
			return "a person can run: " + h.String() + "; then make the same call again"
		}
		if len(words) >= 4 && words[1] == "new" {
			return "call " + prefix + "sign with its whole text as content, for a person to approve"
		}
	}
	return "a person can run: " + h.String()
}

// callOf returns the call that does the same as a rye command; false if there is none.
func callOf(words []string, prefix string) (c Call, ok bool) {
	args, flags, ok := flagsOf(words)
	if !ok || len(args) == 0 {
		return Call{}, false
	}
	c = Call{Tool: prefix + args[0], Arguments: map[string]any{}}
	allowed := map[string]string{} // by flag: the parameter for it
	switch verb := args[0]; verb {
	case "search", "list":
		c.Tool, c.Arguments["query"] = prefix+"search", "*"
		if verb == "search" && len(args) > 1 {
			c.Arguments["query"] = strings.Join(args[1:], " ")
		}
		ok = verb == "search" || len(args) == 1
		allowed = map[string]string{"--kind": "item_type", "--space": "space"}
	case "load", "show", "execute", "run", "sign":
		ref, err := parseRef(args[1:])
		if ok = err == nil; !ok {
			return Call{}, false
		}
		c.Arguments["item_type"], c.Arguments["item_id"] = string(ref.Kind), string(ref.ID)
		switch verb {
		case "show":
			c.Tool = prefix + "load"
		case "run":
			c.Tool = prefix + "execute"
		}
		allowed = map[string]string{"--space": "source"}
	case "thread": // a model reads pages of its own transcript, and of threads that it started
		from, err := strconv.ParseInt(flags["--from"], 10, 64)
		if ok = len(args) == 3 && args[1] == "log" && err == nil; !ok {
			return Call{}, false
		}
		delete(flags, "--from")
		c.Tool = prefix + "execute"
		c.Arguments = map[string]any{"item_type": "tool", "item_id": "rye/agent/threads/read_transcript", "parameters": map[string]any{"thread_id": args[2], "from": from}}
	default:
		return Call{}, false
	}
	for name, value := range flags {
		parameter := allowed[name]
		if parameter == "" {
			return Call{}, false
		}
		c.Arguments[parameter] = value
	}
	return c, ok
}

func parseRef(args []string) (objects.Ref, error) {
	if len(args) != 1 {
		return objects.Ref{}, fault.New(fault.Usage, "want one item")
	}
	return objects.ParseRef(args[0])
}

// flagsOf separates arguments from flags with values; false for any other flag.
func flagsOf(words []string) (args []string, flags map[string]string, ok bool) {
	flags = map[string]string{}
	for i := 0; i < len(words); i++ {
		switch {
		case !strings.HasPrefix(words[i], "-"):
			args = append(args, words[i])
		case (words[i] == "--kind" || words[i] == "--space" || words[i] == "--from") && i+1 < len(words):
			flags[words[i]] = words[i+1]
			i++
		default:
			return nil, nil, false
		}
	}
	return args, flags, true
}
