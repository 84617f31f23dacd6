package cli

import (
	"fmt"
	"strings"
)

// docPages returns the pages of docs/cli by file name, written from the command
// tree, and the index of them. A test compares them with the files.
func docPages() map[string]string {
	pages := map[string]string{}
	var index strings.Builder
	index.WriteString("# Commands\n\nWritten from the program itself: `go test ./internal/cli -update`.\n\n")
	for _, g := range groups {
		fmt.Fprintf(&index, "## %s\n\n", g)
		for _, s := range commands() {
			if s.group != g || s.hidden {
				continue
			}
			fmt.Fprintf(&index, "- [rye %s](%s.md): %s\n", s.name, s.name, lowerFirst(s.short))
			pages[s.name+".md"] = page([]*spec{s})
		}
		index.WriteString("\n")
	}
	pages["README.md"] = strings.TrimRight(index.String(), "\n") + "\n"
	return pages
}

// page is one command with its subcommands.
func page(path []*spec) string {
	var b strings.Builder
	s := path[len(path)-1]
	full := commandName(path)
	fmt.Fprintf(&b, "%s %s\n\n%s.\n", strings.Repeat("#", len(path)), full, s.short)
	if s.examples != "" {
		fmt.Fprintf(&b, "\n```\n%s\n```\n", s.examples)
	}
	fmt.Fprintf(&b, "\nUsage: `%s`\n", synopsis(full, s))
	if len(s.aliases) > 0 {
		fmt.Fprintf(&b, "\nAlso: `%s`\n", strings.Join(s.aliases, "`, `"))
	}
	if s.long != "" {
		b.WriteString("\n" + s.long + "\n")
	}
	if len(s.flags) > 0 {
		b.WriteString("\n| flag | |\n|---|---|\n")
		for _, f := range s.flags {
			names, usage := flagHelp(f)
			fmt.Fprintf(&b, "| `%s` | %s |\n", names, strings.ReplaceAll(usage, "|", "\\|"))
		}
	}
	fmt.Fprintf(&b, "\nExit codes: %s\n", strings.ReplaceAll(exitLine(s), "(all: rye help exit-codes)", "([all](../cli.md#exit-codes))"))
	for _, sub := range s.subs {
		b.WriteString("\n" + page(append(path[:len(path):len(path)], sub)))
	}
	return b.String()
}

// exitTable is the table of docs/cli.md.
func exitTable() string {
	var b strings.Builder
	b.WriteString("| exit | code | when |\n|---:|---|---|\n")
	for _, m := range exitMeanings {
		fmt.Fprintf(&b, "| %d | `%s` | %s |\n", exitStatus(m.code), codeName(m.code), m.text)
	}
	return b.String()
}
