// Command docs rewrites the generated parts of docs/: the pages of docs/cli, the table of
// exit codes in docs/cli.md and the table of packages in docs/layout.md. `make docs` runs
// it, in the module's root.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye/internal/cli"
	"github.com/rye-os/rye/internal/layers"
)

func main() {
	if err := write("."); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

// write brings the generated files of the module at root up to date.
func write(root string) error {
	all, err := files(root)
	if err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(root, "docs", "cli", "*"))
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

// A table stands between two lines of a page.
var (
	exitMarks    = [2]string{"<!-- exit codes: written by the program -->\n", "<!-- end of exit codes -->\n"}
	packageMarks = [2]string{"<!-- packages: written by make docs -->\n", "<!-- end of packages -->\n"}
)

// files returns the content of each generated file of the module at root.
func files(root string) (map[string]string, error) {
	m := cli.Tree()
	all := map[string]string{}
	for name, text := range pages(m) {
		all[filepath.Join(root, "docs", "cli", name)] = text
	}
	packages, err := layers.Packages(root)
	if err != nil {
		return nil, err
	}
	for _, p := range []struct {
		name  string
		marks [2]string
		table string
	}{
		{"cli.md", exitMarks, exitTable(m.Exits)},
		{"layout.md", packageMarks, packageTable(packages)},
	} {
		name := filepath.Join(root, "docs", p.name)
		if all[name], err = filled(name, p.marks, p.table); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// filled returns the page name with the table between its marks.
func filled(name string, marks [2]string, table string) (string, error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	before, rest, ok := strings.Cut(string(raw), marks[0])
	_, after, ok2 := strings.Cut(rest, marks[1])
	if !ok || !ok2 {
		return "", fmt.Errorf("%s: the lines around the table are missing: %q and %q", name, marks[0], marks[1])
	}
	return before + marks[0] + "\n" + table + "\n" + marks[1] + after, nil
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

func packageTable(packages []layers.Package) string {
	var b strings.Builder
	b.WriteString("| package | |\n|---|---|\n")
	for _, p := range packages {
		name := "`" + p.Path + "`"
		if p.Path == "." {
			name = "the root"
		}
		fmt.Fprintf(&b, "| %s | %s |\n", name, strings.ReplaceAll(p.Summary, "|", "\\|"))
	}
	return b.String()
}
