package cli

import (
	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

func exportCommand() *spec {
	return &spec{
		name: "export", group: "Items",
		short:    "Export items in the formats of other programs",
		examples: "rye export skill knowledge:acme/pdf ./pdf",
		exits:    exportSkill().exits,
		subs:     []*spec{exportSkill()},
	}
}

func exportSkill() *spec {
	return &spec{
		name: "skill", args: "<ref> <folder>",
		short: "Write a skill's files to a new folder, byte for byte",
		long: `The folder must not exist, or be empty. Every file is verified first; the manifest is not
copied. If the folder is named like the skill, any client of Agent Skills can use it.`,
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
