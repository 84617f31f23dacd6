package export

import (
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/clients/places"
	"github.com/rye-os/rye/objects"
)

// sessionHook is the name under which a person agrees to the hook.
const sessionHook = "hook:session-start"

// hookCommand prints the counts of rye export --check, and nothing where there is no rye or no
// export. It never fails, for a client may stop at a hook that does.
const hookCommand = "command -v rye >/dev/null 2>&1 && rye export --check --brief 2>/dev/null || true"

// hookFile is the manifest of a plugin of Claude Code that has only the hook. It lies in a folder
// of its own, so the settings of the client, which people write, stay as they are.
func hookFile() []byte {
	type command struct {
		Type    string `json:"type"`
		Command string `json:"command"`
		Timeout int    `json:"timeout"` // seconds
	}
	type event struct {
		Hooks []command `json:"hooks"`
	}
	return pretty(struct {
		manifest
		Hooks map[string][]event `json:"hooks"`
	}{
		manifest{Name: places.SessionSkill, Version: "1.0.0", Description: "Prints the counts of the copies that rye exported here when a session starts", Author: person{"rye"}},
		map[string][]event{"SessionStart": {{[]command{{"command", hookCommand, 10}}}}},
	})
}

// hookSum is the digest to which a person agrees.
func hookSum() objects.Digest { return objects.DigestOf(hookFile()) }

// hook plans the hook for the clients that have a place for it: where it was asked for, and where a
// person agreed to one earlier.
func (x *exporting) hook(o options) error {
	_, had := x.memory.agreed[sessionHook]
	switch {
	case o.user && x.q.Hook:
		return fault.New(fault.Usage, "export --hook: the hook is for a project").Advise("run it without --space user, in a project")
	case x.q.Hook && x.q.Remove, !x.q.Hook && !had, o.user:
		return nil
	}
	none := true
	for _, c := range x.plan.clients {
		if c.Session != "" {
			none = false
			x.plan.copies = append(x.plan.copies, copyOf{path: c.Session + "/.claude-plugin/plugin.json", data: hookFile(), folder: c.Session})
		}
	}
	if none && x.q.Hook {
		x.rep.Left = append(x.rep.Left, rye.ClientLeft{Ref: sessionHook, Why: "rye knows no place for it in these clients"})
	}
	return nil
}

// hooked reports whether the plan has the hook.
func (p *plan) hooked() bool {
	return slices.ContainsFunc(p.clients, func(c places.Client) bool {
		return c.Session != "" && slices.ContainsFunc(p.copies, func(f copyOf) bool { return f.folder == c.Session })
	})
}
