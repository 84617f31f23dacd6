package run

import (
	"encoding/json"
	"io"
	"maps"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// A program of a bundle knows nothing of parameters. It has two for every caller alike, args and
// stdin, and a person's command line gives them as every shell does.

// withArguments returns the parameters of a request, with its arguments among them. Only a program of a
// bundle takes arguments.
func withArguments(it *objects.Item, q rye.ExecuteRequest) (json.RawMessage, error) {
	if len(q.Args) == 0 {
		return q.Params, nil
	}
	if !it.Meta.Program {
		return nil, fault.New(fault.Usage, "execute %s: it takes parameters, and no arguments (%q)", it.Ref, words.Brief(q.Args[0])).
			Advise("rye run %s -p name=value; rye show %[1]s lists its parameters", it.Ref)
	}
	params := map[string]json.RawMessage{}
	if len(q.Params) > 0 {
		if err := json.Unmarshal(q.Params, &params); err != nil {
			return nil, fault.New(fault.Usage, "parameters of %s: %w", it.Ref, err)
		}
	}
	if _, twice := params["args"]; twice {
		return nil, fault.New(fault.Usage, "execute %s: the parameter args and arguments behind -- are the same", it.Ref)
	}
	args, err := json.Marshal(q.Args)
	if err != nil {
		return nil, err
	}
	params["args"] = args
	return json.Marshal(params)
}

// commandsIn returns the parameters of a call for the analysis of commands. The arguments of a program
// are words of its own command, and the first of them names no other.
func commandsIn(it *objects.Item, params map[string]any) map[string]any {
	args, ok := params["args"].([]any)
	if !ok || !it.Meta.Program {
		return params
	}
	params = maps.Clone(params)
	params["args"] = append([]any{"./program"}, args...)
	return params
}

// manifestOf returns the path of the manifest that has the needs of a program.
func manifestOf(it *objects.Item) string {
	dir, _ := objects.InBundles(it.Path)
	return ".ai/" + dir + "/" + objects.ManifestName
}

// inputOf returns the standard input of a program of a bundle, nil for none. A text among the
// parameters comes first.
func (j *job) inputOf(text []byte) io.Reader {
	if text != nil || !j.plan.Tool().Meta.Program {
		return nil
	}
	return j.q.Stdin
}
