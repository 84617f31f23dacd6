package cli

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

func searchCommand() *spec {
	var q rye.SearchRequest
	var only string
	return &spec{
		name: "search", aliases: []string{"find"}, args: "<query…>", group: "Look",
		short: "Find items by their text",
		long: "rye looks for the words in names, descriptions, categories, tags and in the text itself.\n" +
			"The best hit has the most and the rarest of them; no item needs to have all. Operators:\n" +
			"AND OR NOT, \"a phrase\", word*, field:word, word~ for mistakes, \"two words\"~5.\n" +
			"* finds every item. Text that is no such query, or finds nothing as one, is searched by its\n" +
			"words, and rye says so.\n\n" +
			"--kind thread searches the transcripts of threads instead, turn by turn: the messages to\n" +
			"the model, its answers, and the parameters and results of its tools. With AND,\n" +
			"status:completed, directive:acme/review and thread:<id> narrow it. A line begins with\n" +
			"the number of its record.\n\n" +
			"--registry searches the catalogues of the project's registries instead, as rye fetch\n" +
			"--catalogue fetched them: names and descriptions. It installs and trusts nothing.",
		examples: "rye search deploy\nrye search how do I fetch a web page\nrye search 'deploy AND staging' --kind directive --limit 5\nrye search '*' --scope tool.acme.*\nrye search --kind thread 'parcel AND status:completed'\nrye search deploy --registry",
		exits:    []fault.Code{fault.Usage, fault.Integrity, fault.Untrusted, fault.Denied, fault.Malformed, fault.Limit},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "kind", Destination: &q.Kind, Usage: "only this `kind`: directive, tool, knowledge or config; or thread"},
			&cli.StringFlag{Name: "space", Destination: &q.Space, Usage: "only this `space`: project, user or system; or registry"},
			&cli.StringFlag{Name: "registry", Destination: &only, Usage: "search the registries of the project, or the one with this `[name]`"},
			&cli.StringFlag{Name: "scope", Destination: &q.Scope, Usage: "only items that match the capability `pattern`: tool.acme.*"},
			&cli.IntFlag{Name: "limit", Destination: &q.Limit, Usage: "show at most `n` (default 10)"},
			&cli.IntFlag{Name: "offset", Destination: &q.Offset, Usage: "skip the first `n`"},
			&cli.BoolFlag{Name: "explain", Destination: &q.Explain, Usage: "show how each word was understood"},
		},
		min: 1, max: many,
		heavy: func(args []string) bool {
			if q.Space == rye.SpaceRegistry || only != "" {
				return false // perhaps no catalogue was fetched, and then the engine is not needed
			}
			return q.Kind == rye.KindThread || strings.HasPrefix(q.Scope, rye.KindThread) || strings.Trim(strings.Join(args, ""), " *") != ""
		},
		run: func(t *task) error {
			collectFrom(untilGarbage)
			q.Query = strings.Join(t.args, " ")
			if err := ofRegistries(t, &q, only); err != nil {
				return err
			}
			res, err := t.verbs().Search(t.ctx, t.env.Caller, q)
			if err != nil {
				return err
			}
			return t.out.printFound(res)
		},
	}
}

// everyRegistry is the value of --registry without a name.
const everyRegistry = "*"

// ofRegistries turns a search into one of the catalogues of registries, if --registry is given.
func ofRegistries(t *task, q *rye.SearchRequest, only string) error {
	if only == "" {
		return nil
	}
	if q.Space != "" && q.Space != rye.SpaceRegistry {
		return fault.New(fault.Usage, "search --space %s --registry: registries are in no space", q.Space).Advise("leave out --space")
	}
	q.Space = rye.SpaceRegistry
	if only != everyRegistry {
		q.Registry = only
	}
	return nil
}

// printFound prints the hits and the notes about the search.
func (p *printer) printFound(res *rye.SearchResult) error {
	for _, note := range res.Notes {
		p.infof("rye: %s", prose(note))
	}
	if p.json { // one hit a line, and nothing else
		for i := range res.Results {
			res.Results[i].Loose = res.Loose
		}
		for i := range res.Turns {
			res.Turns[i].Loose = res.Loose
		}
	}
	err := each(p, res.Results, printHit)
	if err == nil {
		err = each(p, res.Turns, printTurn)
	}
	if err == nil && len(res.Words) > 0 {
		err = each(p, res.Words, printWord)
	}
	if res.Loose != "" {
		p.infof("rye: %s", prose(res.Loose))
	}
	if len(res.Nearest) > 0 {
		p.infof("no item has that word; similar words: %s", listed(res.Nearest))
	}
	total := fmt.Sprint(res.Total)
	if res.AtLeast {
		total = "at least " + total
	}
	p.infof("%d of %s found", len(res.Results)+len(res.Turns), total)
	p.hint(res.Hint)
	return err
}

func printHit(p *printer, h rye.Hit) {
	if h.Offer != nil {
		p.printOffer(&h)
		return
	}
	p.resultf(len(h.Lines) > 0, "%.2f%s  %s  %s  %s  %s\n", h.Score, mark(h.Guess, h.Partly), h.Ref, h.Space, h.Version, h.Description)
	p.printLines(h.Lines, h.Why)
}

func printTurn(p *printer, h rye.TurnHit) {
	p.resultf(len(h.Lines) > 0, "%.2f%s  %s  turn %d  %s  %s  %s\n", h.Score, mark(h.Guess, h.Partly), h.Thread, h.Turn, h.Directive, statusStyle(h.Status), localTime(h.Time))
	p.printLines(h.Lines, h.Why)
}

// mark returns the marks to print after the score of a hit.
func mark(guess, partly bool) (s prose) {
	if guess {
		s = "?"
	}
	if partly {
		s += " (only the beginning of its text was searched)"
	}
	return s
}

func (p *printer) printLines(lines []rye.Line, why *rye.HitWhy) {
	for _, l := range lines {
		p.printf("      %s\n", faint(prose(fmt.Sprintf("%d: %s", l.Number, l.Text))))
	}
	if why != nil {
		p.printWhy(why)
	}
}

func (p *printer) printWhy(w *rye.HitWhy) {
	for _, x := range w.Words {
		p.printf("      %.2f  %s, by %s, %s\n", x.Amount, x.Word, x.Form, x.Kind)
	}
	p.printf("      share %.2f, whole %.2f, behind %.2f, fit %.2f, pairs %.2f, aim %.2f; of %.2f\n", w.Share, w.Whole, w.Behind, w.Fit, w.Pairs, w.Aim, w.Most)
}

func printWord(p *printer, w rye.SearchWord) {
	p.printf("%s: %d items, weight %.2f\n", w.Word, w.Items, w.Rarity)
	for _, f := range w.Forms {
		p.printf("      %.2f  %s  %s\n", f.Weight, f.Form, f.Kind)
	}
}
