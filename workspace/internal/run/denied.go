package run

import (
	"bytes"
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
func (j *job) denials(in chain.Inputs, call *primitive.Call, o *outcome) (all []rye.Denial) {
	if o.Sandbox < primitive.S2.String() {
		return nil // nothing ran, or nothing kept it from anything
	}
	said := complaints(o)
	if len(bytes.TrimSpace(said)) == 0 {
		return nil // nor is looked for what it might have missed
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
	for _, d := range denied.Read(said, h) {
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
// tools have for them. Where it failed, its output belongs to them: test runners print there.
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
