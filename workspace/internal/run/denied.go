package run

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/denied"
	"github.com/rye-os/rye/chain/primitive"
)

// denials says what the sandbox seems to have refused to a run, by what the run complained
// of. It is a hint for whoever reads the result.
func denials(j *job, in chain.Inputs, call *primitive.Call, o *outcome) (all []rye.Denial) {
	if o.Sandbox < primitive.S2.String() {
		return nil // nothing ran, or nothing kept it from anything
	}
	seen, never := primitive.Common()
	h := denied.Had{
		Sandbox: call.Sandbox, Needs: j.plan.Needs(), Limits: chain.LimitsOf(j.plan), Foreign: j.plan.Links[0].Verified.Scope().Registry != "",
		Dir: call.Dir, Temp: call.Temp, Project: in.ProjectPath,
		Common: seen, Never: slices.Concat(never, in.Hide, in.Protect), Exists: exists,
	}
	if !j.caller.IsPerson() {
		h.Exists = guessed(in.ProjectPath, call.Temp)
	}
	for _, d := range denied.Read(complaints(o.Stderr, o.Data), h) {
		all = append(all, rye.Denial(d))
	}
	return all
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// guessed is exists for who shall not learn by guessing what there is: outside of the project
// everything might be there.
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

// complaints are what a run printed as errors, and what its answer says in the fields that
// tools have for them.
func complaints(stderr []byte, data json.RawMessage) []byte {
	var said struct {
		Stderr any `json:"stderr"`
		Error  any `json:"error"`
	}
	if json.Unmarshal(data, &said) != nil {
		return stderr
	}
	text := slices.Clone(stderr)
	for _, v := range []any{said.Stderr, said.Error} {
		if s, ok := v.(string); ok && s != string(stderr) {
			text = append(append(text, '\n'), s...)
		}
	}
	return text
}
