package cli

import (
	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

func exportCommand() *spec {
	return &spec{
		name: "export", group: "Items",
		short:    "Give items back in the forms of other programs",
		examples: "rye export skill knowledge:acme/pdf ./pdf",
		exits:    exportSkill().exits,
		subs:     []*spec{exportSkill()},
	}
}

func exportSkill() *spec {
	return &spec{
		name: "skill", args: "<ref> <folder>",
		short: "Write a skill's files into a new folder, byte for byte as they came",
		long: `The folder must not exist yet, or be empty. Every file is verified; the manifest stays
here. What names the folder like the skill can be used by any client of Agent Skills.`,
		examples: "rye export skill knowledge:acme/pdf ~/.claude/skills/pdf",
		exits: []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Integrity, fault.Untrusted, fault.Revoked,
			fault.Malformed, fault.Limit},
		min: 2, max: 2,
		run: func(t *task) error {
			ref, err := t.w.Ref(t.ctx, t.env.Caller, t.args[0])
			if err != nil {
				return err
			}
			q := rye.SkillExport{Ref: ref, Dir: t.path(t.args[1])}
			return answer(t, t.w.Bundles().Export, q, func(p *printer, rep *rye.SkillExported) {
				p.resultf(false, "exported %s to %s, %s\n", rep.Ref, rep.Dir, words.Plural(len(rep.Files), "file"))
			})
		},
	}
}
