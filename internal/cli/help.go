package cli

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/app"
)

// exitMeanings says, for people, when each status is given.
var exitMeanings = [...]struct {
	code fault.Code
	text string
}{
	{"", "it worked"},
	{fault.Failed, "the tool ran and failed, or something unforeseen happened"},
	{fault.Usage, "wrong arguments, or a malformed ref"},
	{fault.NotFound, "no such item, registry, key or program"},
	{fault.Conflict, "versions or names cannot be reconciled"},
	{fault.Network, "the network or the other side failed"},
	{fault.Auth, "the other side did not accept who we are"},
	{fault.Integrity, "bytes are not what was signed or pinned"},
	{fault.Untrusted, "unsigned, by an unknown signer, or the signer changed"},
	{fault.Revoked, "the key or the content was revoked"},
	{fault.Rollback, "older than what was seen before, or replayed"},
	{fault.Stale, "what a registry says is too old to rely on"},
	{fault.Fork, "two histories under one name"},
	{fault.Denied, "refused by policy or capability, or nobody consented"},
	{fault.Offline, "not available without the network"},
	{fault.Drift, "the lock does not match what would be used"},
	{fault.Malformed, "content breaks its format"},
	{fault.Limit, "a bound on size, time, depth or money was reached"},
	{fault.Interrupt, "interrupted"},
}

func exitStatus(c fault.Code) int {
	if c == "" {
		return 0
	}
	return c.Exit()
}

func codeName(c fault.Code) string {
	if c == "" {
		return "ok"
	}
	return string(c)
}

func helpCommand() *spec {
	var man string
	return &spec{
		name: "help", args: "[command…]", group: "Serve and mend",
		short:    "Show help for a command, or the exit codes",
		examples: "rye help add\nrye help registry init\nrye help exit-codes\nrye help --man ~/.local/share/man/man1",
		exits:    []fault.Code{fault.Usage},
		flags:    []cli.Flag{&cli.StringFlag{Name: "man", Destination: &man, Usage: "write the manual pages into `dir`"}},
		max:      3,
		run: func(t *task) error {
			if man != "" {
				return writeMan(t, man)
			}
			if len(t.args) == 1 && t.args[0] == "exit-codes" {
				return printExitCodes(t)
			}
			var path []*spec
			level := commands()
			for _, name := range t.args {
				s := find(level, name)
				if s == nil {
					return unknownCommand(commandName(path), name, level)
				}
				path = append(path, s)
				level = s.subs
			}
			return printHelp(t, path)
		},
	}
}

func printExitCodes(t *task) error {
	if t.out.json {
		for _, m := range exitMeanings {
			if err := t.out.object(map[string]any{"exit": exitStatus(m.code), "code": codeName(m.code), "text": m.text}); err != nil {
				return err
			}
		}
		return nil
	}
	var rows [][]any
	for _, m := range exitMeanings {
		rows = append(rows, []any{fmt.Sprintf("%3d", exitStatus(m.code)), codeName(m.code), m.text})
	}
	t.out.table(rows)
	return nil
}

// printHelp shows the help of the command at the end of path, or the overview.
// It was asked for, so it is a result.
func printHelp(t *task, path []*spec) error {
	if len(path) == 0 {
		t.out.printf("%s", overview(commands()))
		return nil
	}
	t.out.printf("%s", commandHelp(path))
	return nil
}

func overview(tree []*spec) string {
	var b strings.Builder
	b.WriteString("rye: signed, pinned and shared instructions, tools and knowledge for agents\n\nUsage: rye [flags] <command> [arguments]\n")
	for _, g := range groups {
		b.WriteString("\n" + g + "\n")
		for _, s := range tree {
			if s.group == g && !s.hidden {
				fmt.Fprintf(&b, "  %-11s %s\n", s.name, s.short)
			}
		}
	}
	b.WriteString("\nFlags of every command\n")
	b.WriteString(flagLines(globalFlags(&app.Flags{})))
	b.WriteString("\nA ref is tool:acme/hello, or a path. Start with: rye init\nMore: rye help <command>, rye help exit-codes\n")
	return b.String()
}

// commandHelp puts examples first: most people read no further.
func commandHelp(path []*spec) string {
	s := path[len(path)-1]
	full := commandName(path)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", full, s.short)
	if s.examples != "" {
		b.WriteString("\nExamples\n")
		for _, l := range strings.Split(s.examples, "\n") {
			b.WriteString("  " + l + "\n")
		}
	}
	fmt.Fprintf(&b, "\nUsage: %s\n", synopsis(full, s))
	if len(s.aliases) > 0 {
		fmt.Fprintf(&b, "Also: %s\n", strings.Join(s.aliases, ", "))
	}
	if s.long != "" {
		b.WriteString("\n" + s.long + "\n")
	}
	if len(s.subs) > 0 {
		b.WriteString("\nCommands\n")
		for _, sub := range s.subs {
			fmt.Fprintf(&b, "  %-16s %s\n", sub.name, sub.short)
		}
	}
	if len(s.flags) > 0 {
		b.WriteString("\nFlags\n" + flagLines(s.flags))
	}
	b.WriteString("\nExit codes: " + exitLine(s) + "\n")
	return b.String()
}

func synopsis(full string, s *spec) string {
	line := full
	if len(s.subs) > 0 && s.run == nil {
		line += " <command>"
	}
	if len(s.flags) > 0 {
		line += " [flags]"
	}
	if s.args != "" {
		line += " " + s.args
	}
	return line
}

// exitLine lists the statuses that matter for a command, and the two that any may give.
func exitLine(s *spec) string {
	parts := []string{"0 ok"}
	for _, m := range exitMeanings {
		for _, c := range s.exits {
			if c == m.code {
				parts = append(parts, fmt.Sprintf("%d %s", c.Exit(), c))
			}
		}
	}
	if len(s.exits) == 0 {
		parts = append(parts, "2 usage")
	}
	return strings.Join(parts, ", ") + " (all: rye help exit-codes)"
}

func flagLines(flags []cli.Flag) string {
	var b strings.Builder
	width := 20
	for _, f := range flags {
		names, _ := flagHelp(f)
		width = max(width, len(names))
	}
	for _, f := range flags {
		names, usage := flagHelp(f)
		fmt.Fprintf(&b, "  %-*s  %s\n", width, names, usage)
	}
	return b.String()
}

// flagHelp returns how a flag is typed and what it does. A word in backquotes in
// its usage names its value.
func flagHelp(f cli.Flag) (names, usage string) {
	all := f.Names()
	if len(all) > 1 {
		names = "-" + all[1] + ", "
	}
	names += "--" + all[0]
	if df, ok := f.(cli.DocGenerationFlag); ok {
		usage = df.GetUsage()
	}
	if before, rest, ok := strings.Cut(usage, "`"); ok {
		value, after, _ := strings.Cut(rest, "`")
		usage = before + value + after
		names += " " + value
	}
	return names, usage
}
