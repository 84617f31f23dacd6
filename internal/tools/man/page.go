package main

import (
	"fmt"
	"strings"

	"github.com/rye-os/rye/internal/cli"
)

// manDate is the day when the form of the pages last changed. With the day of the build,
// two builds of one tree would differ.
const manDate = "2026-11-21"

// pages returns the manual by file name, in the macros of man(7), which mandoc and groff
// both know.
func pages(m cli.Manual) map[string]string {
	all := map[string]string{"rye.1": overview(m)}
	for _, c := range m.Commands {
		all[pageName(c)+".1"] = command(m, c)
	}
	return all
}

// pageName returns "rye-key" for rye key.
func pageName(c cli.Command) string { return strings.ReplaceAll(c.Name, " ", "-") }

// page collects the lines of a page. Only its methods write, and they escape their
// arguments.
type page struct{ strings.Builder }

func newPage(name, about string) *page {
	p := &page{}
	fmt.Fprintf(p, ".TH %s 1 %s \"rye\" \"rye manual\"\n", strings.ToUpper(name), manDate)
	p.section("Name")
	fmt.Fprintf(p, "%s \\- %s\n", roff(name), roff(about))
	return p
}

func (p *page) section(title string) {
	fmt.Fprintf(p, ".SH %s\n", strings.ToUpper(roff(title)))
}

// sub begins a subsection.
func (p *page) sub(title string) { fmt.Fprintf(p, ".SS %s\n", roff(title)) }

// text writes paragraphs, which blank lines separate.
func (p *page) text(text string) {
	for i, para := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			p.WriteString(".PP\n")
		}
		for line := range strings.SplitSeq(para, "\n") {
			p.WriteString(guarded(roff(line)) + "\n")
		}
	}
}

// further writes paragraphs below others; "" adds nothing.
func (p *page) further(text string) {
	if text != "" {
		p.WriteString(".PP\n")
		p.text(text)
	}
}

// item writes a term and its meaning.
func (p *page) item(term, text string) {
	fmt.Fprintf(p, ".TP\n\\fB%s\\fR\n%s\n", roff(term), guarded(roff(text)))
}

// example writes lines as they are typed.
func (p *page) example(text string) {
	p.WriteString(".PP\n.nf\n.RS 4\n")
	for line := range strings.SplitSeq(text, "\n") {
		p.WriteString(guarded(roff(line)) + "\n")
	}
	p.WriteString(".RE\n.fi\n")
}

// seeAlso names other pages.
func (p *page) seeAlso(names []string) {
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
// commands out of the page), and characters outside ASCII.
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

func overview(m cli.Manual) string {
	p := newPage("rye", "signed, pinned and shared instructions, tools and knowledge for agents")
	p.section("Synopsis")
	p.text("rye [flags] <command> [arguments]")
	p.section("Description")
	p.text("A project's .ai directory holds directives, tools and knowledge. Each is signed by its author, and nothing unsigned, altered or untrusted runs.\n\n" +
		"A ref is tool:acme/hello, or a path. Flags stand before or after arguments. Start with: rye init")
	var also []string
	for _, g := range m.Groups {
		p.section(g)
		for _, c := range m.Commands {
			if c.Group == g {
				p.item(c.Name, c.Short)
			}
		}
	}
	p.section("Flags of every command")
	p.flags(m.Flags)
	p.section("Exit status")
	for _, e := range m.Exits {
		p.item(fmt.Sprintf("%d %s", e.Status, e.Code), e.When)
	}
	for _, c := range m.Commands {
		also = append(also, pageName(c))
	}
	p.seeAlso(also)
	return p.String()
}

func (p *page) flags(flags []cli.Flag) {
	for _, f := range flags {
		p.item(f.Names, f.Usage)
	}
}

func command(m cli.Manual, c cli.Command) string {
	p := newPage(pageName(c), strings.ToLower(c.Short[:1])+c.Short[1:])
	p.section("Synopsis")
	p.text(c.Usage)
	p.section("Description")
	p.text(c.Short + ".")
	p.further(c.Long)
	if len(c.Aliases) > 0 {
		p.further("Also: " + strings.Join(c.Aliases, ", "))
	}
	if len(c.Flags) > 0 {
		p.section("Options")
		p.flags(c.Flags)
	}
	if len(c.Subs) > 0 {
		p.section("Commands")
		for _, sub := range c.Subs {
			p.subcommand(sub)
		}
	}
	if c.Examples != "" {
		p.section("Examples")
		p.example(c.Examples)
	}
	p.section("Exit status")
	p.text(exits(c))
	p.seeAlso(append([]string{"rye"}, related(m, c)...))
	return p.String()
}

func exits(c cli.Command) string { return c.ExitLine() + " (all: rye(1))" }

// related names the other commands under the same heading.
func related(m cli.Manual, c cli.Command) []string {
	var names []string
	for _, other := range m.Commands {
		if other.Name != c.Name && other.Group == c.Group {
			names = append(names, pageName(other))
		}
	}
	return names
}

// subcommand describes a subcommand, and the subcommands below it.
func (p *page) subcommand(c cli.Command) {
	p.sub(c.Name)
	p.text(c.Short + ".")
	p.further(c.Usage)
	p.further(c.Long)
	p.flags(c.Flags)
	if c.Examples != "" {
		p.example(c.Examples)
	}
	p.further("Exit status: " + exits(c))
	for _, sub := range c.Subs {
		p.subcommand(sub)
	}
}
