package author

import (
	"context"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/program"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/workspace/internal/look"
)

// The signature of a bundle lets its programs run. So a person looks at each new program, and at a
// changed one that someone else can have written. A request for many bundles skips such a bundle, and
// a request for it alone shows the programs, and asks for a bundle below bundles/: other folders hold
// tools, each of which states its needs.

// programsOf returns the programs among the files of a bundle that are new or changed since was, a
// verified manifest; nil for none.
func programsOf(now, was *objects.Manifest, files []store.Change, dir string) (all []rye.BundleProgram) {
	for _, c := range files {
		f, listed := now.File(strings.TrimPrefix(c.Path, dir+"/"))
		if !listed {
			continue
		}
		p, is := look.Program(now, f, c.Data)
		if p.Change = changeSince(was, f, p.Kind == rye.ToolOfBundle); is && p.Change != "" {
			all = append(all, p)
		}
	}
	return all
}

// changeSince says how a program differs from the one that a manifest lists, "" where both are the
// same. It is "new" also where the file got the mode of programs, and where neither its mode nor its
// name shows that it was a program before.
func changeSince(was *objects.Manifest, f objects.File, tool bool) string {
	old, listed := was.File(f.Path)
	switch ran := old.Executable || tool || program.Of(f.Path, []byte{' '}, false) != ""; {
	case listed && old == f:
		return ""
	case listed && ran && f.Executable == old.Executable:
		return "changed"
	}
	return "new"
}

// hasNew reports whether one of the programs is new.
func hasNew(all []rye.BundleProgram) bool {
	for _, p := range all {
		if p.Change == "new" {
			return true
		}
	}
	return false
}

// alone reports whether a request is for one bundle that a user named.
func (g *signing) alone(dir string) bool {
	return named(g.q) && g.named[rye.Target(dir)]
}

// skipPrograms notes that a bundle is not signed now, because of its programs.
func (d *draft) skipPrograms(dir string) {
	d.skip("it has " + countPrograms(d.Programs))
	d.Hint, d.Members = fault.Command("rye sign .ai/%s", dir), nil
}

// countPrograms is "2 new programs" or "1 new and 2 changed programs".
func countPrograms(all []rye.BundleProgram) string {
	fresh := 0
	for _, p := range all {
		if p.Change == "new" {
			fresh++
		}
	}
	switch changed := len(all) - fresh; {
	case changed == 0:
		return words.Plural(fresh, "new program")
	case fresh == 0:
		return words.Plural(changed, "changed program")
	default:
		return words.Plural(fresh, "new program") + " and " + words.Plural(changed, "changed one")
	}
}

// askPrograms shows a person the programs of a bundle, and asks whether the signature is for them
// too.
func (g *signing) askPrograms(ctx context.Context, d *draft) error {
	return g.Ask(ctx, rye.Question{
		Topic: "sign " + d.Ref, Text: "It has " + countPrograms(d.Programs) + ". Your signature lets them run",
		Lines: d.programLines(), Mend: fault.Command("rye sign %s --yes", d.Ref),
	})
}

// programLines lists the programs of a bundle that are new or changed, for a question.
func (d *draft) programLines() []string {
	l := listing{needs: d.bundleNeeds}
	l.add("", d.Programs)
	return l.lines()
}

// programsCome lists the programs of bundles that would come in, for the question about them.
func programsCome(come []rye.AddReport) []string {
	l := listing{needs: objects.NoNeeds}
	for _, rep := range come {
		l.add(rep.Ref, rep.Programs)
	}
	return l.lines()
}

// listing is a list of programs for a person, with a word about who confines them. It names at most
// maxListed.
type listing struct {
	needs       objects.Needs // of the programs that are no tools
	named       []string
	more        int
	runs, tools bool // some are programs that rye runs, or tools
}

// add lists the programs of a bundle. of is its ref, "" where the question is about one bundle.
func (l *listing) add(of string, all []rye.BundleProgram) {
	for _, p := range all {
		l.runs, l.tools = l.runs || p.Run != "" && p.Kind != rye.ToolOfBundle, l.tools || p.Kind == rye.ToolOfBundle
		if len(l.named) == maxListed {
			l.more++
			continue
		}
		line := "program  "
		if of != "" {
			line += of + "  "
		} else if p.Change != "" {
			line += p.Change + "  "
		}
		l.named = append(l.named, line+words.Quote(p.Path)+"  "+p.Kind+": "+p.Why)
	}
}

func (l *listing) lines() []string {
	lines := l.named
	if len(lines) == 0 {
		return nil
	}
	if l.more > 0 {
		lines = append(lines, "and "+words.Plural(l.more, "more program"))
	}
	if l.tools {
		lines = append(lines, "rye run confines tools to the needs that each of them states")
	}
	if l.runs {
		reach := "no file of the project, and no host"
		if l.needs.Declared && l.needs.String() != objects.NoNeeds.String() {
			reach = l.needs.String()
		}
		which := "them"
		if l.tools {
			which = "the other programs"
		}
		lines = append(lines, "rye run confines "+which+" to: "+reach)
	}
	return append(lines, "nobody confines them where another program, such as a client, runs an exported copy")
}
