// Command docs rewrites what docs/ says of the command line: the pages of docs/cli, and
// the table of exit codes in docs/cli.md. make docs runs it, in the module's root.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye/internal/cli"
)

func main() {
	if err := write("docs"); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

// write brings the files below dir up to date with the program.
func write(dir string) error {
	all, err := files(dir)
	if err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(dir, "cli", "*"))
	if err != nil {
		return err
	}
	for _, name := range old {
		if all[name] == "" { // the command was removed
			if err := os.Remove(name); err != nil {
				return err
			}
		}
	}
	for name, text := range all {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// The table of exit codes is between these lines of docs/cli.md.
const tableBegin, tableEnd = "<!-- exit codes: written by the program -->\n", "<!-- end of exit codes -->\n"

// files returns the wanted content of each file below dir.
func files(dir string) (map[string]string, error) {
	m := cli.Tree()
	all := map[string]string{}
	for name, text := range pages(m) {
		all[filepath.Join(dir, "cli", name)] = text
	}
	path := filepath.Join(dir, "cli.md")
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	before, rest, ok := strings.Cut(string(raw), tableBegin)
	_, after, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		return nil, fmt.Errorf("%s: the lines around the table of exit codes are missing", path)
	}
	all[path] = before + tableBegin + "\n" + exitTable(m.Exits) + "\n" + tableEnd + after
	return all, nil
}

// pages returns the pages of docs/cli by file name, and the index of them.
func pages(m cli.Manual) map[string]string {
	all := map[string]string{}
	var index strings.Builder
	index.WriteString("# Commands\n\nWritten from the program itself: `make docs`.\n\n")
	for _, g := range m.Groups {
		fmt.Fprintf(&index, "## %s\n\n", g)
		for _, c := range m.Commands {
			if c.Group != g {
				continue
			}
			file := strings.TrimPrefix(c.Name, "rye ") + ".md"
			fmt.Fprintf(&index, "- [%s](%s): %s\n", c.Name, file, strings.ToLower(c.Short[:1])+c.Short[1:])
			all[file] = page(c, "#")
		}
		index.WriteString("\n")
	}
	all["README.md"] = strings.TrimRight(index.String(), "\n") + "\n"
	return all
}

// page returns the page of one command with its subcommands.
func page(c cli.Command, heading string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n\n%s.\n", heading, c.Name, c.Short)
	if c.Examples != "" {
		fmt.Fprintf(&b, "\n```\n%s\n```\n", c.Examples)
	}
	fmt.Fprintf(&b, "\nUsage: `%s`\n", c.Usage)
	if len(c.Aliases) > 0 {
		fmt.Fprintf(&b, "\nAlso: `%s`\n", strings.Join(c.Aliases, "`, `"))
	}
	if c.Long != "" {
		b.WriteString("\n" + c.Long + "\n")
	}
	if len(c.Flags) > 0 {
		b.WriteString("\n| flag | |\n|---|---|\n")
		for _, f := range c.Flags {
			fmt.Fprintf(&b, "| `%s` | %s |\n", f.Names, strings.ReplaceAll(f.Usage, "|", "\\|"))
		}
	}
	fmt.Fprintf(&b, "\nExit codes: %s ([all](../cli.md#exit-codes))\n", c.ExitLine())
	for _, sub := range c.Subs {
		b.WriteString("\n" + page(sub, heading+"#"))
	}
	return b.String()
}

func exitTable(exits []cli.Exit) string {
	var b strings.Builder
	b.WriteString("| exit | code | when |\n|---:|---|---|\n")
	for _, e := range exits {
		fmt.Fprintf(&b, "| %d | `%s` | %s |\n", e.Status, e.Code, e.When)
	}
	return b.String()
}
