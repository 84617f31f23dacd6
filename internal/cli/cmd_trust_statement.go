package cli

import (
	"github.com/rye-os/rye"
	"github.com/rye-os/rye/internal/words"
)

// printStatement prints all requests of a directory, with the digest and the status of each
// part.
func printStatement(p *printer, rep *rye.TrustStatement, ok bool) {
	for _, text := range rep.First {
		p.printf("%s  %s\n", bad("first"), prose(text))
	}
	p.printf("directory  %s\nproject    %s\nstatement  %s\n", rep.Dir, rep.Project, rep.Digest)
	var rows [][]any
	for _, d := range rep.Parts {
		status := good(d.Status)
		if d.Status == "asked" {
			status = bad(d.Status)
		}
		rows = append(rows, []any{status, d.Digest, prose(partWords(d))})
	}
	p.table(rows)
	for _, u := range rep.Undeclared {
		p.printf("%s  %s signed %s in %s/, but is not declared for it: %s\n", bad("untrusted"),
			u.Signer, words.Plural(u.Items, "item"), u.Namespace, listed(u.Paths))
	}
	for _, text := range rep.Ignored {
		p.infof("%s", text)
	}
	for _, d := range rep.Unknown {
		p.infof("no part has the digest %s", d)
	}
	if rep.Note != "" {
		p.infof("%s", prose(rep.Note))
	}
	switch {
	case rep.DryRun:
		p.infof("nothing was accepted: --dry-run")
	case rep.Granted > 0:
		recorded := ""
		if rep.Recorded > 0 {
			recorded = ", " + words.Plural(rep.Recorded, "item") + " recorded"
		}
		p.infof("%s accepted%s", words.Plural(rep.Granted, "part"), recorded)
	case ok:
		p.infof("nothing new to accept")
	}
}

// partWords returns the request of a part in one line.
func partWords(d rye.TrustPart) string {
	who := d.Signer
	switch {
	case d.You:
		who += " (you)"
	case d.Name != "":
		who += " (" + words.Quote(d.Name) + ")"
	}
	switch d.Kind {
	case "project":
		return "your own keys are trusted here"
	case "signer":
		return words.Quote(d.Namespace) + "/ by " + who + ", " + words.Plural(d.Items, "item") + prefixed(", removed on ", d.Removed)
	case "override":
		return words.Quote(d.Ref) + " by " + who + prefixed(", removed on ", d.Removed)
	}
	return "registry " + words.Quote(d.Registry) + " at " + string(listed(d.Addresses)) +
		", root keys " + string(listed(d.RootKeys)) + prefixed(", for ", string(listed(d.Scopes)))
}
