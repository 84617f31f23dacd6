package cli

import (
	"maps"
	"slices"
	"strings"

	"github.com/rye-os/rye"
)

// printMoved prints the changes of one item that an installation brings, or would bring.
func (p *printer) printMoved(rep *rye.InstallReport, name string) {
	i := slices.IndexFunc(rep.Changes, func(c rye.Change) bool { return c.Name == name && c.Version != "" })
	if i < 0 {
		return
	}
	c := rep.Changes[i]
	say := func(format string, args ...any) { p.resultf(rep.DryRun, "    "+format+"\n", args...) }
	if !c.Direct {
		say("dependency: %s", prose(strings.Join(c.WantedBy, "; ")))
	}
	if c.Was != "" {
		say("+%d -%d lines", c.Added, c.Removed)
	}
	if c.Needs != c.NeedsWas && (c.NeedsWas != "" || rep.DryRun) {
		say("needs: %s%s", prose(c.Needs), before(c.NeedsWas))
	}
	if now, was := strings.Join(c.Capabilities, ", "), strings.Join(c.CapabilitiesWas, ", "); now != was {
		say("asks for: %s%s", prose(now), before(was))
	}
	for _, w := range c.Wider {
		say("now also: %s", prose(w))
	}
	if c.AuthorWas != "" {
		say("author: %s%s", c.Author, before(c.AuthorWas))
	}
	if c.PublisherWas != "" {
		say("publisher: %s%s", c.Publisher, before(c.PublisherWas))
	}
	for _, dep := range slices.Sorted(maps.Keys(c.Deps)) {
		say("uses %s %s", dep, c.Deps[dep])
	}
	if len(c.DepsGone) > 0 {
		say("no longer uses: %s", listed(c.DepsGone))
	}
	if len(c.Diff) > 0 {
		p.printHunks("a/"+name, "b/"+name, c.Diff)
	}
}

func before(was string) prose { return prose(prefixed(", was: ", was)) }
