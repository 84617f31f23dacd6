package foreign

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// ryvosSkill is the skill.toml of a skill of Ryvos.
type ryvosSkill struct {
	Name            string `toml:"name"`
	Description     string `toml:"description"`
	Command         string `toml:"command"`
	Timeout         int    `toml:"timeout_secs"`
	RequiresSandbox bool   `toml:"requires_sandbox"`
	InputSchema     string `toml:"input_schema_json"`
	Tier            string `toml:"tier"`
	Prerequisites   struct {
		Binaries []string `toml:"required_binaries"`
		Env      []string `toml:"required_env"`
		OS       any      `toml:"required_os"`
	} `toml:"prerequisites"`
}

// ryvosSkills takes each folder with a skill.toml as one bundle. The entry of the bundle
// runs the skill's command.
func ryvosSkills(r *reading) {
	for _, f := range r.tree.Files {
		if path.Base(f.Path) != "skill.toml" || r.used[f.Path] {
			continue
		}
		if err := r.ryvos(f); err != nil {
			r.refuse(f.Path, err)
			r.use(f.Path)
			if dir := path.Dir(f.Path); dir != "." {
				r.close(dir)
				r.dirs = append(r.dirs, dir)
			}
		}
	}
}

func (r *reading) ryvos(f File) error {
	var s ryvosSkill
	if err := toml.Unmarshal(f.Data, &s); err != nil {
		return fault.New(fault.Malformed, "%w", err)
	}
	if s.Command == "" {
		return fault.New(fault.Malformed, "skill.toml names no command")
	}
	name := s.Name
	if name == "" {
		name = r.dirName(path.Dir(f.Path))
	}
	text, err := s.tool()
	if err != nil {
		return err
	}
	id, dir, err := r.bundleID(slug(name))
	if err != nil {
		return err
	}
	main := File{Path: dir + "/main.yaml", Data: []byte(text)}
	it, err := objects.Parse(main.Path, main.Data)
	if err != nil {
		return err
	}
	if ps := it.Validate(); len(ps) > 0 {
		return invalid(ps[0])
	}
	from := path.Dir(f.Path)
	found := Found{Ref: objects.Ref{Kind: objects.Tool, ID: id}, What: "Ryvos skill", Name: name, From: from, Dir: dir, Lost: s.lost()}
	b := r.pack(from, dir, "")
	found.Lost, found.Left = append(found.Lost, b.lost...), b.lost
	if from != "." {
		r.dirs = append(r.dirs, from)
	}
	for _, f := range b.files {
		if ref, _, err := objects.RefOfPath(f.Path); err == nil && ref == found.Ref {
			return fault.New(fault.Conflict, "%s would be its entry, beside its command", path.Base(f.Path)).Advise("rename that file")
		}
		found.Files = append(found.Files, f)
	}
	found.Files = append(found.Files, main)
	r.found = append(r.found, found)
	return nil
}

// tool returns the text of a tool for the skill. The skill's command gets the parameters as
// JSON on standard input, and $SKILL_DIR.
func (s *ryvosSkill) tool() (string, error) {
	about := plain(s.Description, 500)
	if about == "" {
		about = "Runs the skill " + plain(s.Name, 64) + "."
	}
	if s.Timeout <= 0 {
		s.Timeout = 30
	}
	tier := strings.ToLower(s.Tier)
	if tier == "" {
		tier = "t2"
	}
	command := `export SKILL_DIR="$(dirname "$0")"; printf %s "$RYE_PARAMS" | { ` + strings.TrimSpace(s.Command) + "\n}"
	text := fmt.Sprintf("version: 0.1.0\ntool_type: bash\nexecutor_id: rye/core/runtimes/bash_runtime\ndescription: %s\ntier: %s\nlimits: {time: %d}\nconfig: {command: %s}\n",
		quoted(about), quoted(tier), s.Timeout, quoted(command))
	if s.InputSchema != "" {
		var schema bytes.Buffer
		if json.Compact(&schema, []byte(s.InputSchema)) != nil {
			return "", fault.New(fault.Malformed, "input_schema_json is not JSON")
		}
		text += "config_schema: " + schema.String() + "\n"
	}
	return text, nil
}

func (s *ryvosSkill) lost() []string {
	var all []string
	if len(s.Prerequisites.Binaries) > 0 {
		all = append(all, "required_binaries are not looked for beforehand: "+plain(strings.Join(s.Prerequisites.Binaries, ", "), 200))
	}
	if len(s.Prerequisites.Env) > 0 {
		all = append(all, "required_env is not passed on: "+plain(strings.Join(s.Prerequisites.Env, ", "), 200))
	}
	if s.Prerequisites.OS != nil {
		all = append(all, "required_os is not compared")
	}
	if s.RequiresSandbox {
		all = append(all, "requires_sandbox: every tool runs in the sandbox")
	}
	return all
}
