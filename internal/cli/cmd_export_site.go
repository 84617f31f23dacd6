package cli

import (
	"github.com/rye-os/rye"
	"github.com/rye-os/rye/internal/words"
)

// exportSite writes or compares a site with an index of skills.
func (t *task) exportSite(q rye.SiteExport) error {
	return answerAlways(t, t.w.Bundles().Site, q, func(p *printer, rep *rye.SiteExported, _ bool) {
		skills, same := 0, 0
		for _, f := range rep.Files {
			if f.Skill != "" && f.State != "removed" && f.State != "left over" {
				skills++
			}
			if f.State == "unchanged" {
				same++
				continue
			}
			state := good(f.State)
			if f.State != "written" && f.State != "removed" {
				state = warning(f.State)
			}
			p.resultf(rep.DryRun, "%s  %s\n", state, f.Path)
		}
		p.printLeft(rep.Left)
		if len(rep.Files) > 0 {
			p.infof("site %s: %s, %s unchanged", rep.Dir, words.Plural(skills, "skill"), words.Plural(same, "file"))
		}
	})
}
