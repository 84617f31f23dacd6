package export

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/clients/places"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// maxAsked bounds the lines of a question about an export.
const maxAsked = 200

// agree asks a person before rye writes for a client for the first time here, and before programs
// reach clients that no one agreed to. A client runs programs without rye's limits, so the question
// lists them.
func (x *exporting) agree(ctx context.Context, all []*group) error {
	if x.q.DryRun || x.q.Remove {
		return nil
	}
	fresh := slices.DeleteFunc(slices.Clone(x.plan.clients), func(c places.Client) bool { return x.memory.clients[c.Name] })
	var lines []string
	programs := 0
	for i := range x.plan.sources {
		src := &x.plan.sources[i]
		if src.gist == (objects.Digest{}) || x.memory.agreed[src.ref.String()] == src.gist && len(fresh) == 0 {
			continue
		}
		programs++
		for _, p := range src.programs {
			lines = append(lines, src.ref.String()+"  "+p)
		}
		for _, a := range src.acts {
			lines = append(lines, src.ref.String()+"  "+a)
		}
	}
	hook := x.plan.hooked() && x.memory.agreed[sessionHook] != hookSum()
	if hook {
		lines = append(lines, "hook at the start of a session  runs "+hookCommand)
	}
	if len(fresh) == 0 && programs == 0 && !hook {
		return nil
	}
	proposed := len(x.q.To) == 0 && len(fresh) > 0 // by rye.yaml, which anybody wrote
	q := rye.Question{Topic: "export to " + strings.Join(x.rep.Clients, ", "), Text: x.text(all, programs > 0, hook), Mend: x.mend(proposed), Person: proposed}
	q.Lines = append(q.Lines, x.folders(all)...)
	if more := len(lines) - maxAsked; more > 0 {
		lines = append(lines[:maxAsked:maxAsked], "… and "+words.Plural(more, "more line"))
	}
	q.Lines = append(q.Lines, lines...)
	return x.Ask(ctx, q)
}

func (x *exporting) text(all []*group, programs, hook bool) string {
	text := fmt.Sprintf("Write %s?", copies(len(all)))
	if hook {
		text += " The client runs the hook below at the start of each session"
	}
	if !programs {
		return text
	}
	if hook {
		text += "."
	}
	if x.q.Confined {
		return text + " Stubs stand in the place of programs, and rye limits what they run. What the text makes the client do, rye does not limit"
	}
	return text + " Clients run the programs below without the limits of rye; --confined writes stubs that keep them"
}

// folders sums up the copies by the directory that holds them.
func (x *exporting) folders(all []*group) (lines []string) {
	count := map[string]int{}
	var order []string
	for _, g := range all {
		dir, _, _ := cutLast(g.Path)
		if count[dir]++; count[dir] == 1 {
			order = append(order, dir)
		}
	}
	for _, dir := range order {
		lines = append(lines, fmt.Sprintf("%s  %s", dir, copies(count[dir])))
	}
	return lines
}

func (x *exporting) mend(proposed bool) fault.Hint {
	command := []string{"rye", "export"}
	for _, t := range x.q.Targets {
		command = append(command, string(t))
	}
	if to := x.q.To; len(to) > 0 || proposed {
		if proposed { // naming them is the answer
			to = x.rep.Clients
		}
		command = append(command, "--to", strings.Join(to, ","))
	}
	if x.q.Confined {
		command = append(command, "--confined")
	}
	if x.q.Hook {
		command = append(command, "--hook")
	}
	if x.q.Link {
		command = append(command, "--link")
	}
	if x.q.Space != "" {
		command = append(command, "--space", x.q.Space)
	}
	return fault.CommandOf(append(command, "--yes")...)
}

func copies(n int) string {
	if n == 1 {
		return "1 copy"
	}
	return strconv.Itoa(n) + " copies"
}
