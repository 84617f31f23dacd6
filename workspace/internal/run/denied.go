package run

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/denied"
	"github.com/rye-os/rye/chain/network/forward"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/internal/words"
)

// denials guesses the accesses that the sandbox refused, from the run's own error messages. They
// are hints for the reader of the result.
func (j *job) denials(in chain.Inputs, call *primitive.Call, o *outcome) (all []rye.Denial) {
	if o.Sandbox < primitive.S2.String() {
		return nil // nothing ran, or nothing restricted it
	}
	said := complaints(o)
	if len(bytes.TrimSpace(said)) == 0 && len(o.Missed) == 0 {
		return nil // without messages there is nothing to look for
	}
	seen, never := primitive.Common()
	h := denied.Had{
		Sandbox: call.Sandbox, Needs: j.plan.Needs(), Limits: chain.LimitsOf(j.plan), Foreign: j.plan.Links[0].Verified.Scope().Registry != "",
		Dir: call.Dir, Temp: call.Temp, Project: in.ProjectPath,
		Common: seen, Never: slices.Concat(never, in.Hide, in.Protect), Exists: exists,
		Names: namesIn(call.Doors.Names), Text: j.text(),
	}
	if !j.caller.IsPerson() {
		h.Exists = guessed(in.ProjectPath, call.Temp)
	}
	for _, d := range append(missed(o.Missed, &h), denied.Read(said, h)...) {
		if d.Need != "" && j.plan.Tool().Meta.Program {
			d.Need += " in " + manifestOf(j.plan.Tool())
		}
		if d := rye.Denial(d); !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	return all
}

// maxMissed bounds the hosts that a result names.
const maxMissed = 8

// missed describes the hosts that rye did not reach for a run.
func missed(list []forward.Miss, h *denied.Had) (all []denied.Denial) {
	for _, m := range list[:min(len(list), maxMissed)] {
		d := denied.Denial{What: words.Printable(words.Clip("reaching "+m.String()+": "+m.Why, 300))}
		if m.Unnamed {
			d.Need = h.Naming(m.Host, m.Port)
		}
		all = append(all, d)
	}
	return all
}

// text is the tool with the texts among its parameters, one on each line.
func (j *job) text() []byte {
	text := slices.Clone(j.plan.Tool().Body)
	for _, name := range slices.Sorted(maps.Keys(j.params.Values)) {
		if v, ok := j.params.Values[name].(string); ok {
			text = append(append(text, '\n'), v...)
		}
	}
	return text
}

// namesIn returns the hosts of a file of host names, by their addresses.
func namesIn(text []byte) map[string]string {
	names := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 {
			names[f[0]] = f[1]
		}
	}
	return names
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// guessed is exists for callers that must not learn by guessing which files exist: outside of
// the project every path is taken to exist.
func guessed(project, temp string) func(string) bool {
	return func(path string) bool {
		rel, err := filepath.Rel(project, path)
		if project == "" || err != nil || !filepath.IsLocal(rel) {
			return temp == "" || !strings.HasPrefix(path, temp+string(filepath.Separator))
		}
		root, err := os.OpenRoot(project) // through which no link leads out
		if err != nil {
			return false
		}
		defer root.Close()
		_, err = root.Lstat(rel)
		return err == nil
	}
}

// complaints are a run's error output, and the error fields of its answer. If it failed, its
// standard output belongs to them, too: test runners print errors there.
func complaints(o *outcome) []byte {
	var said struct {
		Stdout any `json:"stdout"`
		Stderr any `json:"stderr"`
		Error  any `json:"error"`
	}
	if json.Unmarshal(o.Data, &said) != nil {
		return o.Stderr
	}
	var all []string
	if text, ok := said.Stdout.(string); ok && !o.OK {
		all = append(all, text)
	}
	for _, v := range []any{said.Stderr, said.Error} {
		if text, ok := v.(string); ok && text != string(o.Stderr) {
			all = append(all, text)
		}
	}
	return []byte(strings.Join(append(all, string(o.Stderr)), "\n"))
}
