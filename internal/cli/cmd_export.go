package cli

import (
	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

func exportCommand() *spec {
	var plain bool
	return &spec{
		name: "export", args: "--plain <folder>", group: "Items",
		short: "Export items in the formats of other programs, or as plain files",
		long: `With --plain, rye writes all verified items of this project into a new folder, without their
signature lines and without manifests: files that need no rye. It writes no other change, and
changes nothing here. Items that do not verify are named and not written.`,
		examples: "rye export skill knowledge:acme/pdf ./pdf\nrye export --plain ../files",
		exits:    exportSkill().exits,
		flags:    []cli.Flag{&cli.BoolFlag{Name: "plain", Destination: &plain, Usage: "write all items as plain files, without signature lines"}},
		min:      1, max: 1,
		subs: []*spec{exportSkill()},
		run: func(t *task) error {
			if !plain {
				return fault.New(fault.Usage, "export: as what? %q is no format", words.Brief(t.args[0])).Advise("rye export --plain <folder>, or rye export skill <ref> <folder>")
			}
			return answerAlways(t, t.w.Bundles().ExportPlain, rye.PlainExport{Dir: t.path(t.args[0])}, func(p *printer, rep *rye.PlainExported, _ bool) {
				p.resultf(false, "exported %s to %s\n", words.Plural(len(rep.Files), "file"), rep.Dir)
				for _, r := range rep.Refused {
					p.printf("%s  .ai/%s  %s\n", bad("refused"), r.Path, prose(r.Error))
				}
			})
		},
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
