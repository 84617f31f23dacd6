package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/app"
	"github.com/rye-os/rye/internal/words"
)

// manDate is the day on which the form of the pages last changed. The day of a
// build would make two builds of one tree differ.
const manDate = "2026-11-21"

// Man returns the manual pages by file name, written from the command tree in the
// macros of man(7), which mandoc and groff both know: rye.1, and a page for each
// command with its subcommands.
func Man() map[string]string {
	tree := commands()
	pages := map[string]string{"rye.1": manOverview(tree)}
	for _, s := range tree {
		if !s.hidden {
			pages["rye-"+s.name+".1"] = manCommand(tree, s)
		}
	}
	return pages
}

// manPage collects the lines of a page. Only its methods write, and they escape
// what they are given.
type manPage struct{ strings.Builder }

func newManPage(name, about string) *manPage {
	p := &manPage{}
	fmt.Fprintf(p, ".TH %s 1 %s \"rye\" \"rye manual\"\n", strings.ToUpper(name), manDate)
	p.section("Name")
	fmt.Fprintf(p, "%s \\- %s\n", roff(name), roff(about))
	return p
}

func (p *manPage) section(title string) {
	fmt.Fprintf(p, ".SH %s\n", strings.ToUpper(roff(title)))
}

// sub begins a subsection.
func (p *manPage) sub(title string) { fmt.Fprintf(p, ".SS %s\n", roff(title)) }

// text writes paragraphs, which blank lines separate.
func (p *manPage) text(text string) {
	for i, para := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			p.WriteString(".PP\n")
		}
		for line := range strings.SplitSeq(para, "\n") {
			p.WriteString(guarded(roff(line)) + "\n")
		}
	}
}

// item writes a term and what it means.
func (p *manPage) item(term, text string) {
	fmt.Fprintf(p, ".TP\n\\fB%s\\fR\n%s\n", roff(term), guarded(roff(text)))
}

// example writes lines as they are typed.
func (p *manPage) example(text string) {
	p.WriteString(".PP\n.nf\n.RS 4\n")
	for line := range strings.SplitSeq(text, "\n") {
		p.WriteString(guarded(roff(line)) + "\n")
	}
	p.WriteString(".RE\n.fi\n")
}

// seeAlso names other pages.
func (p *manPage) seeAlso(names []string) {
	p.section("See also")
	for i, n := range names {
		sep := ","
		if i == len(names)-1 {
			sep = ""
		}
		fmt.Fprintf(p, ".BR %s (1)%s\n", roff(n), sep)
	}
}

// roff escapes text for any place in a line: backslashes, hyphens (a reader copies
// commands out of the page), and what is not ASCII.
func roff(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '\'':
			b.WriteString(`\(aq`)
		case r == '^':
			b.WriteString(`\(ha`)
		case r == '~':
			b.WriteString(`\(ti`)
		case r == '`':
			b.WriteString(`\(ga`)
		case r < 0x80:
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		}
	}
	return b.String()
}

// guarded keeps a line of text from being read as a request.
func guarded(line string) string {
	if strings.HasPrefix(line, ".") {
		return `\&` + line
	}
	return line
}

func manOverview(tree []*spec) string {
	p := newManPage("rye", "signed, pinned and shared instructions, tools and knowledge for agents")
	p.section("Synopsis")
	p.text("rye [flags] <command> [arguments]")
	p.section("Description")
	p.text("A project's .ai directory holds directives, tools and knowledge. Each is signed by its author, and nothing unsigned, altered or untrusted runs.\n\n" +
		"A ref is tool:acme/hello, or a path. Flags stand before or after arguments. Start with: rye init")
	for _, g := range groups {
		p.section(g)
		for _, s := range tree {
			if s.group == g && !s.hidden {
				p.item("rye "+s.name, s.short)
			}
		}
	}
	p.flags("Flags of every command", globalFlags(&app.Flags{}))
	p.section("Exit status")
	for _, m := range exitMeanings {
		p.item(fmt.Sprintf("%d %s", exitStatus(m.code), codeName(m.code)), m.text)
	}
	var also []string
	for _, s := range tree {
		if !s.hidden {
			also = append(also, "rye-"+s.name)
		}
	}
	p.seeAlso(also)
	return p.String()
}

func (p *manPage) flags(title string, flags []cli.Flag) {
	if len(flags) == 0 {
		return
	}
	p.section(title)
	p.flagItems(flags)
}

func (p *manPage) flagItems(flags []cli.Flag) {
	for _, f := range flags {
		names, usage := flagHelp(f)
		p.item(names, usage)
	}
}

func manCommand(tree []*spec, s *spec) string {
	name := "rye-" + s.name
	p := newManPage(name, lowerFirst(s.short))
	path := []*spec{s}
	p.section("Synopsis")
	p.text(synopsis(commandName(path), s))
	p.section("Description")
	p.text(s.short + ".")
	if s.long != "" {
		p.WriteString(".PP\n")
		p.text(s.long)
	}
	if len(s.aliases) > 0 {
		p.WriteString(".PP\n")
		p.text("Also: " + strings.Join(s.aliases, ", "))
	}
	p.flags("Options", s.flags)
	if len(s.subs) > 0 {
		p.section("Commands")
		for _, sub := range s.subs {
			p.subcommand(append(path[:1:1], sub))
		}
	}
	if s.examples != "" {
		p.section("Examples")
		p.example(s.examples)
	}
	p.section("Exit status")
	p.text(strings.Replace(exitLine(s), "all: rye help exit-codes", "all: rye(1)", 1))
	p.seeAlso(append([]string{"rye"}, related(tree, s)...))
	return p.String()
}

// related names the other commands under the same heading.
func related(tree []*spec, s *spec) []string {
	var names []string
	for _, other := range tree {
		if other != s && other.group == s.group && !other.hidden {
			names = append(names, "rye-"+other.name)
		}
	}
	return names
}

// subcommand describes one, and what stands below it.
func (p *manPage) subcommand(path []*spec) {
	s := path[len(path)-1]
	full := commandName(path)
	p.sub(full)
	p.text(s.short + ".")
	p.WriteString(".PP\n")
	p.text(synopsis(full, s))
	if s.long != "" {
		p.WriteString(".PP\n")
		p.text(s.long)
	}
	p.flagItems(s.flags)
	if s.examples != "" {
		p.example(s.examples)
	}
	p.WriteString(".PP\n")
	p.text("Exit status: " + strings.Replace(exitLine(s), "all: rye help exit-codes", "all: rye(1)", 1))
	for _, sub := range s.subs {
		p.subcommand(append(path[:len(path):len(path)], sub))
	}
}

// writeMan puts the manual pages into a directory and prints their names.
func writeMan(t *task, dir string) error {
	a, err := t.env()
	if err != nil {
		return err
	}
	dir = a.Path(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fault.New(fault.Failed, "write the manual: %w", err)
	}
	pages := Man()
	for _, name := range sortedKeys(pages) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(pages[name]), 0o644); err != nil {
			return fault.New(fault.Failed, "write the manual: %w", err)
		}
	}
	return t.out.show(map[string]any{"directory": dir, "pages": sortedKeys(pages)}, func() {
		t.out.printf("%s in %s\n", words.Plural(len(pages), "page"), dir)
	})
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }
