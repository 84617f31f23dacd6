package cli

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

func signCommand() *spec {
	var q rye.SignRequest
	return &spec{
		name: "sign", slow: true, args: "[ref | path | pattern…]", group: "Items",
		short: "Sign items with your key, and record them",
		long: `Signed items can run here and can be published. Patterns match refs: 'tool:acme/*'. An
item that you have signed already stays as it is. A directory
.ai/bundles/<namespace>/<name> is signed as one: rye creates or updates its manifest and
lists the new, changed and missing files. --all and patterns skip a bundle with a new
program and name it; alone, rye lists its programs and asks you.
Items signed by someone else, or by a denied or unknown key, are skipped unless you name
one explicitly; then rye shows its signer and its text, and asks you.

In a git repository rye also shows an item, and asks, where someone else can have written a
part of it: HEAD has a version that you did not sign, or git has not finished a merge, a
rebase, a cherry-pick or a revert. Without a terminal --all and patterns skip it (16).
Sign before you commit, and rye need not ask.`,
		examples: "rye sign tool:acme/hello\nrye sign 'tool:acme/*'\nrye sign .ai/bundles/acme/report\nrye sign --all --check      # for CI: fail when something is not signed\nrye sign --all --upgrade    # also what RYE OS signed",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Integrity, fault.Untrusted, fault.Rollback, fault.Denied, fault.Malformed},
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Destination: &q.All, Usage: "every item of the space"},
			&cli.BoolFlag{Name: "check", Destination: &q.Check, Usage: "sign nothing; fail if an item would be signed"},
			&cli.BoolFlag{Name: "upgrade", Destination: &q.Upgrade, Usage: "also sign items with a signature of RYE OS"},
			dryRun(&q.DryRun),
			changedSpace(&q.Space),
		},
		max: many,
		run: func(t *task) (err error) {
			collectFrom(amongGarbage)
			if q.Targets, err = t.someRefs(q.All); err != nil {
				return err
			}
			rep, err := t.verbs().Sign(t.ctx, t.env.Caller, q)
			if rep == nil {
				return err
			}
			if perr := t.out.show(rep, func() { t.out.printSign(rep, q) }); perr != nil {
				return perr
			}
			if rep.Failed > 0 {
				return signFailure(rep) // err is the first of their errors
			}
			return err
		},
	}
}

func (p *printer) printSign(rep *rye.SignReport, q rye.SignRequest) {
	var patched, needs []rye.SignResult
	var past []string // not signed, because they are older than the record
	end := p.list()
	for _, r := range rep.Results {
		if r.Status == "passed over" && r.Error == "" {
			p.resultf(false, "%s  %s: %s\n", "skipped", r.Ref, prose(cmp.Or(r.Why, "signed by "+r.SignedBy)))
			if len(r.Programs) > 0 { // each has its own command, and a list shows one hint of a kind
				p.printPrograms(r.Programs)
				p.resultf(false, "    to sign  %s\n", prose(r.Hint.String()))
				continue
			}
			p.hint(r.Hint)
			continue
		}
		if r.Status == "would-ask" {
			p.resultf(true, "%s  %s: %s\n", warning(r.Status), r.Ref, prose(r.Why))
			continue
		}
		if r.Error == "" && (r.Status == "older" || r.Status == "returned") {
			past = append(past, r.Ref)
			p.resultf(false, "%s  %s\n", warning(r.Status), r.Ref)
			continue
		}
		if r.Error == "" {
			dry := r.Status == "would-sign"
			p.resultf(dry, "%s  %s%s\n", good(r.Status), r.Ref, prose(signNote(r)))
			if r.Patched {
				patched = append(patched, r)
			}
			if r.Needs != "" {
				needs = append(needs, r)
			}
			if dry || !p.quiet {
				p.printReplaced(r.Replaces)
				p.printBundleChanges(r.Members)
			}
			if dry {
				p.printPrograms(r.Programs)
			}
			continue
		}
		if len(r.Mistakes) > 0 {
			p.printf("%s  %s\n", bad(r.Status), r.Ref)
			p.printMistakes(r.Mistakes)
			p.printPaste(r.Paste)
			continue
		}
		p.printf("%s  %s: %s\n", bad(r.Status), r.Ref, prose(r.Error))
		p.hint(r.Hint)
	}
	if len(patched) > 0 {
		p.hint(patched[0].Hint) // the same for all
	}
	end()
	p.printNeeds(needs)
	if len(past) > 0 {
		p.infof("rye: older than the record, left unchanged: %s; to make one the newest: rye sign %s", words.Plural(len(past), "item"), past[0])
	}
	p.printRenewed(rep.Lock, q.DryRun)
	p.printStaged(rep.Staged)
	switch n := len(rep.PassedOver); n {
	case 0:
	case 1:
		p.infof("rye: not signed, because it is not an item: %s", rep.PassedOver[0])
	default:
		p.infof("rye: not signed, because they are not items: %d files; see rye status", n)
	}
}

// printRenewed names the entries of the lock that follow the signatures.
func (p *printer) printRenewed(refs []string, dry bool) {
	did := "renewed"
	if dry {
		did = "would renew"
	}
	switch n := len(refs); n {
	case 0:
	case 1:
		p.infof("rye: %s in rye.lock: %s", did, refs[0])
	default:
		p.infof("rye: %s in rye.lock: %s", did, words.Plural(n, "item"))
	}
}

// printStaged names the files that the next commit would take without their signatures.
func (p *printer) printStaged(paths []string) {
	switch n := len(paths); n {
	case 0:
	case 1:
		p.infof("rye: git has an older form of %s staged: %s", words.Quote(paths[0]), fault.CommandOf("git", "add", paths[0]))
	default:
		p.infof("rye: git has an older form of %d signed files staged: git add .ai", n)
	}
}

// signNote returns what to print after the name of a signed file.
func signNote(r rye.SignResult) string {
	switch {
	case r.Patched && r.Part:
		return "  (part, patched)"
	case r.Patched:
		return "  (patched)"
	case r.Part:
		return "  (part: other tools load it, nothing runs it)"
	}
	return ""
}

// printNeeds names the tools into which signing wrote needs.
func (p *printer) printNeeds(all []rye.SignResult) {
	switch n := len(all); n {
	case 0:
	case 1:
		p.infof("rye: %s stated no needs; written: %s", all[0].Ref, all[0].Needs)
	default:
		p.infof("rye: %s stated no needs; written into the first: %s", words.Plural(n, "tool"), all[0].Needs)
	}
}

// printBundleChanges names the files of a bundle that changed since the last signature.
func (p *printer) printBundleChanges(all []objects.MemberChange) {
	for _, m := range all {
		what := ""
		if m.Executable {
			what = "  (executable)"
		}
		p.printf("    %-7s  %s%s\n", m.Change, m.Path, prose(what))
	}
}

// printMistakes shows the mistakes in a file: the place, the field, the broken rule,
// the line itself, and the text to write instead.
func (p *printer) printMistakes(all []rye.Mistake) {
	for _, m := range all {
		place := words.Quote(m.Path)
		if m.Line > 0 {
			place += ":" + strconv.Itoa(m.Line)
		}
		if m.Line > 0 && m.Column > 0 {
			place += ":" + strconv.Itoa(m.Column)
		}
		rule := m.Rule
		if m.Field != "" && !strings.HasPrefix(rule, m.Field+" ") {
			rule = m.Field + ": " + rule
		}
		p.printf("    %s  %s\n", prose(place), prose(rule))
		if m.Text != "" {
			p.printf("      %4d | %s\n", m.Line, prose(m.Text))
		}
		if m.Mend != "" {
			p.printf("      fix  | %s\n", prose(m.Mend))
		}
	}
}

// printPaste shows metadata to paste into a file without any.
func (p *printer) printPaste(text string) {
	if text != "" {
		p.printf("    to start, put this at the beginning of the file:\n\n")
		p.example(strings.TrimRight(text, "\n") + "\n\n")
	}
}

// printReplaced shows the part of the file that the signature of RYE OS did not cover, and
// that is signed now.
func (p *printer) printReplaced(r *rye.Replaced) {
	if r == nil {
		return
	}
	p.printf("        replaced a signature of RYE OS%s\n", prose(signedBefore(r)))
	p.printf("        it covered %s, but not id, version and time\n", prose(r.Covers))
	if len(r.Uncovered) > 0 {
		p.printf("        newly covered:\n")
	}
	for _, line := range r.Uncovered {
		p.printf("        | %s\n", prose(line))
	}
}

// signedBefore names the key of RYE OS's signature, and says what is wrong with it.
func signedBefore(r *rye.Replaced) string {
	by := prefixed(" by ", words.Clip(r.Key, shownKey))
	switch {
	case r.Held:
		return by
	case r.Unchecked():
		return by + " (not checked: " + r.Why + ")"
	}
	return by + " (not valid: " + r.Why + ")"
}

// shownKey is how much is shown of a fingerprint of RyeOS 0.5, which has 64 digits.
const shownKey = 20

// signFailure returns an error with the code of the first item that failed.
func signFailure(rep *rye.SignReport) error {
	for _, r := range rep.Results {
		if r.Error != "" {
			return someFailed(r.Code, rep.Failed, len(rep.Results), "not signed")
		}
	}
	return fault.New(fault.Failed, "sign: it failed for an unknown reason")
}
