package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

func helpCommand() *spec {
	return &spec{
		name: "help", args: "[command… | topic | page]", group: "Serve and maintain",
		short: "Show help for a command or a topic, all commands, or the exit codes",
		long: "rye help commands lists all commands, and rye help pages the longer pages that are compiled in.\n" +
			"Topics: " + strings.Join(topicNames(), ", ") + ".",
		examples: "rye help add\nrye help registry init\nrye help commands\nrye help sandbox\nrye help pages\nrye help tools-http\nrye help exit-codes",
		exits:    []fault.Code{fault.Usage},
		max:      3,
		alone:    true,
		run:      (*task).help,
	}
}

// help shows a command, a topic, a page or one of the lists.
func (t *task) help() error {
	if len(t.args) == 1 {
		switch t.args[0] {
		case "exit-codes":
			return t.printExitCodes()
		case "commands":
			t.out.page(allCommands(Tree()))
			return nil
		case "pages":
			return t.listPages()
		}
	}
	if text := aboutTopic(t.args); text != "" {
		return t.showTopic(t.args[0], text)
	}
	var path []*spec
	level := commands()
	for _, name := range t.args {
		s := find(level, name)
		if s == nil && len(t.args) == 1 && t.showPage(name) == nil {
			return nil
		}
		if s == nil {
			return unknownCommand(path, name, level, nil)
		}
		path = append(path, s)
		level = s.subs
	}
	return t.printHelp(path)
}

func (t *task) showTopic(name, text string) error {
	return t.out.show(map[string]string{"topic": name, "text": text}, func() { t.out.printTopic(text) })
}

// pages is the folder of the library's knowledge that rye help shows.
const pages = "rye/reference/"

// showPage prints a compiled-in page.
func (t *task) showPage(name string) error {
	id, err := objects.ParseID(pages + name)
	if err != nil {
		return err
	}
	if err := t.open(); err != nil {
		return err
	}
	page, err := t.w.Load(t.ctx, t.env.Caller, rye.LoadRequest{Ref: rye.Ref{Kind: objects.Knowledge, ID: id}, Space: objects.System.String()})
	if err != nil {
		return err
	}
	return t.showTopic(name, strings.TrimSpace(page.Body))
}

// pageItems returns the compiled-in pages.
func (t *task) pageItems() ([]rye.ItemInfo, error) {
	if err := t.open(); err != nil {
		return nil, err
	}
	all, err := t.w.List(t.ctx, t.env.Caller, rye.ListRequest{Kind: string(objects.Knowledge), Space: objects.System.String()})
	return slices.DeleteFunc(all, func(it rye.ItemInfo) bool { return !strings.Contains(it.Ref, ":"+pages) }), err
}

func pageName(it rye.ItemInfo) string {
	_, name, _ := strings.Cut(it.Ref, ":"+pages)
	return name
}

func (t *task) listPages() error {
	all, err := t.pageItems()
	if err != nil {
		return err
	}
	return rows(t.out, all, func(it rye.ItemInfo) []any { return []any{pageName(it), it.Description} })
}

func (t *task) printExitCodes() error {
	return rows(t.out, exitMeanings(), func(e Exit) []any { return []any{prose(fmt.Sprintf("%3d", e.Status)), e.Code, prose(e.When)} })
}

// printHelp shows the help of the command at the end of path, or the overview. The
// user asked for it, so it is a result.
func (t *task) printHelp(path []*spec) error {
	if len(path) == 0 {
		t.out.page(overview(Tree()))
		return nil
	}
	c := describe(path)
	if t.out.columns > 0 && t.out.columns < helpColumns {
		c.Long = joined(c.Long)
	}
	head, examples, rest := commandHelp(c)
	t.out.page(head)
	t.out.example(examples)
	t.out.page(rest)
	return nil
}

// first are the commands that a newcomer needs, in the order of their use.
var first = [...]string{"init", "new", "add", "sign", "run", "list", "status", "search", "ask", "export", "push", "update"}

const slogan = "rye: signed, pinned and shared instructions, tools and knowledge for agents\n\nUsage: rye [flags] <command> [arguments]\n"

func overview(m Manual) string {
	var b strings.Builder
	b.WriteString(slogan + "\nBegin with these\n")
	for _, name := range first {
		for _, c := range m.Commands {
			if subject(c.Name) == name {
				fmt.Fprintf(&b, "  %-11s %s\n", name, c.Short)
			}
		}
	}
	b.WriteString(`
More
  rye help <command>     a command, with examples
  rye help commands      all commands, and the flags of every command
  rye help <topic>       ` + strings.Join(topicNames(), ", ") + `
  rye help pages         the longer pages
  rye help exit-codes    the exit statuses

Start with: rye init
`)
	return b.String()
}

func allCommands(m Manual) string {
	var b strings.Builder
	b.WriteString(slogan)
	for _, g := range m.Groups {
		b.WriteString("\n" + g + "\n")
		for _, c := range m.Commands {
			if c.Group == g {
				fmt.Fprintf(&b, "  %-11s %s\n", subject(c.Name), c.Short)
			}
		}
	}
	b.WriteString("\nFlags of every command\n")
	b.WriteString(flagLines(m.Flags))
	b.WriteString("\nA ref is tool:acme/hello, or a path.\n")
	return b.String()
}

// helpColumns is the greatest width of the help paragraphs in the source.
const helpColumns = 100

// joined turns each paragraph into one line, for a new line break. Indented text stays
// unchanged.
func joined(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		open := b.Len() > 0 && !strings.HasSuffix(b.String(), "\n")
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" && open:
			b.WriteString("\n\n")
		case line == "":
			b.WriteString("\n")
		case line[0] == ' ' && open:
			b.WriteString("\n" + line + "\n")
		case line[0] == ' ':
			b.WriteString(line + "\n")
		case open:
			b.WriteString(" " + line)
		default:
			b.WriteString(line)
		}
	}
	return b.String()
}

// commandHelp returns the help of a command in three parts. Examples come early, because most
// people read no further; they are a separate part, because people copy them.
func commandHelp(c Command) (head, examples, rest string) {
	head = fmt.Sprintf("%s: %s\n", c.Name, c.Short)
	if c.Examples != "" {
		examples = "\nExamples\n"
		for _, l := range strings.Split(c.Examples, "\n") {
			examples += "  " + l + "\n"
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nUsage: %s\n", c.Usage)
	if len(c.Aliases) > 0 {
		fmt.Fprintf(&b, "Also: %s\n", strings.Join(c.Aliases, ", "))
	}
	if c.Long != "" {
		b.WriteString("\n" + c.Long + "\n")
	}
	if len(c.Subs) > 0 {
		b.WriteString("\nCommands\n")
		for _, sub := range c.Subs {
			fmt.Fprintf(&b, "  %-16s %s\n", strings.TrimPrefix(sub.Name, c.Name+" "), sub.Short)
		}
	}
	if len(c.Flags) > 0 {
		b.WriteString("\nFlags\n" + flagLines(c.Flags))
	}
	fmt.Fprintf(&b, "\nExit codes: %s (all: rye help exit-codes)\n", c.ExitLine())
	return head, examples, b.String()
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

func flagLines(flags []Flag) string {
	var b strings.Builder
	width := 20
	for _, f := range flags {
		width = max(width, len(f.Names))
	}
	for _, f := range flags {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, f.Names, f.Usage)
	}
	return b.String()
}

// flagHelp returns the names of a flag and its usage. A word in backquotes in the usage
// is the name of its value.
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
