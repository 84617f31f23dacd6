package cli

import (
	"cmp"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

func trustCommand() *spec {
	var q rye.TrustRequest
	return &spec{
		name: "trust", group: "Trust",
		short: "Show what this directory asks you to trust, and decide",
		long: `Shows the signers that this directory asks you to trust, its registries, and its
replacements of rye's own items, and asks one question. Earlier grants are not asked again.
--accept grants exactly the part with this digest, or the whole statement, without a
question and without a key. It is for build machines, and the digest must come from
outside the directory.`,
		examples: "rye trust\nrye trust --dry-run\nrye trust --accept sha256:…\nrye trust list\nrye trust pin acme.pub --namespace acme --fingerprint SHA256:…\nrye trust explain tool:acme/hello\nrye trust deny SHA256:… --reason 'key lost'",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Integrity, fault.Untrusted, fault.Revoked, fault.Denied, fault.Malformed},
		flags: []cli.Flag{
			repeated("accept", &q.Accept, "`sha256:…` of the statement or of a part; several with commas"),
			dryRun(&q.DryRun),
		},
		run: func(t *task) error {
			q.Accept = commas(q.Accept)
			q.Here = t.env.Project == t.env.Dir
			return answerAlways(t, t.w.Trust().Statement, q, printStatement)
		},
		subs: []*spec{trustList(), trustPin(), trustUnpin(), trustDeny(), trustAllow(), trustOverride(), trustPatch(), trustForget(),
			trustExplain(), trustImport(), trustAllowedSigners(), trustBackup(), trustRestore()},
	}
}

// commas splits lists at commas.
func commas(lists []string) (all []string) {
	for _, list := range lists {
		all = append(all, strings.Split(list, ",")...)
	}
	return all
}

func trustList() *spec {
	return &spec{
		name: "list", aliases: []string{"ls"}, short: "List the trusted keys and registries, and the denials",
		examples: "rye trust list",
		exits:    []fault.Code{fault.Usage, fault.Malformed},
		run: func(t *task) error {
			return answerRows(t, bare(t.w.Trust().List), none, "", func(e rye.TrustEntry) []any {
				return []any{e.Kind, e.Subject, strings.Join(e.Namespaces, ", "), e.Detail}
			})
		},
	}
}

func trustPin() *spec {
	var q rye.TrustPinRequest
	return &spec{
		name: "pin", args: "<key>",
		short: "Trust a key for the namespaces that you name",
		long: `The key is a line like ssh-ed25519 AAAA…, a file that holds one, - for standard input, or
the SHA256:… of a known key. rye shows its fingerprint and asks you. Without a terminal you
need both --fingerprint, which its owner gave you, and --yes. Earlier grants of the key stay.`,
		examples: "rye trust pin acme.pub --namespace acme\nrye trust pin acme.pub --namespace acme --fingerprint SHA256:… --yes\nrye trust pin SHA256:… --namespace acme --space project",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Untrusted, fault.Denied, fault.Malformed},
		rights:   func() bool { return !q.DryRun },
		flags: []cli.Flag{
			repeated("namespace", &q.Namespaces, "`namespace` to trust it for; repeatable"),
			&cli.StringFlag{Name: "fingerprint", Destination: &q.Fingerprint, Usage: "`SHA256:…` that its owner gave you; another key is refused"},
			&cli.StringFlag{Name: "name", Destination: &q.Name, Usage: "`name` of its owner"},
			&cli.StringFlag{Name: "space", Destination: &q.Space, Usage: "`space` to trust it in: user or project (default: both)"},
			dryRun(&q.DryRun),
		},
		min: 1, max: many,
		run: func(t *task) (err error) {
			if len(q.Namespaces) == 0 {
				return fault.New(fault.Usage, "trust pin: for which namespace?").Advise("rye trust pin %s --namespace <name>", t.args[0])
			}
			if q.Key, err = t.publicKey(strings.Join(t.args, " ")); err != nil {
				return err
			}
			return answer(t, t.w.Trust().Pin, q, printTrustChange)
		},
	}
}

// publicKey reads one key argument: a line, a fingerprint, a file that holds a line, or
// - for standard input.
func (t *task) publicKey(joined string) (string, error) {
	if strings.HasPrefix(joined, "ssh-") || strings.HasPrefix(joined, "ecdsa-") || strings.HasPrefix(joined, "sk-") || strings.HasPrefix(joined, "SHA256:") {
		return joined, nil
	}
	from, err := t.input(joined)
	if err != nil {
		return "", fault.New(fault.NotFound, "read the public key: %w", err)
	}
	defer from.Close()
	raw, err := io.ReadAll(io.LimitReader(from, 16<<10))
	if err != nil {
		return "", fault.New(fault.Failed, "read the public key: %w", err)
	}
	return strings.TrimSpace(string(raw)), nil
}

func printTrustChange(p *printer, c *rye.TrustChange) {
	text := c.Status + " " + words.Quote(c.Subject)
	if c.Name != "" {
		text += " (" + words.Quote(c.Name) + ")"
	}
	text += prefixed(" for ", string(listed(c.Namespaces)))
	text += prefixed(" in ", string(listed(c.Where)))
	text += prefixed(": ", c.Detail)
	if c.DryRun {
		text += " (nothing was changed: --dry-run)"
	}
	p.infof("%s", prose(text))
}

func trustUnpin() *spec {
	var q rye.TrustUnpinRequest
	return &spec{
		name: "unpin", args: "<fingerprint | name>",
		short: "Stop trusting a key, or for some namespaces",
		long: `In a project this also removes the signer for everyone. Its declaration is removed, and a
signed line in .ai/allowed_signers ends the earlier grants of other people, on every branch
where they have seen the line. This needs the signer's own key, or your key if it owns the
namespace. If the signer is declared again, people are asked again.`,
		examples: "rye trust unpin SHA256:…\nrye trust unpin Bob --namespace tools",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Malformed},
		flags: []cli.Flag{
			repeated("namespace", &q.Namespaces, "only this `namespace`; repeatable"),
			dryRun(&q.DryRun),
		},
		min: 1, max: 1, arg: &q.Subject,
		run: func(t *task) error { return answer(t, t.w.Trust().Unpin, q, printTrustChange) },
	}
}

func trustDeny() *spec {
	var q rye.TrustDenyRequest
	return &spec{
		name: "deny", args: "<fingerprint | digest>",
		short:    "Deny a key, or certain bytes, for good",
		long:     "A denial applies at once, everywhere, also offline, for any signer. --share also\nwrites a signed line for your colleagues, which applies on every branch once they have seen\nit. For a digest, the line in .ai/denied withdraws that version of your item. For a key, the\nline in .ai/denied-keys denies it for namespaces that your key owns.",
		examples: "rye trust deny SHA256:… --reason 'key lost'\nrye trust deny SHA256:… --share --namespace acme\nrye trust deny sha256:…\nrye trust deny sha256:… --share",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Untrusted, fault.Malformed, fault.Limit},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "reason", Destination: &q.Reason, Usage: "`text` to keep with the denial"},
			&cli.BoolFlag{Name: "share", Destination: &q.Share, Usage: "also for other people, by a signed line in .ai/denied or .ai/denied-keys"},
			repeated("namespace", &q.Namespaces, "with --share: deny the key for this `namespace` (default: all that it is trusted for here); repeatable"),
			dryRun(&q.DryRun),
		},
		min: 1, max: 1, arg: &q.Subject,
		run: func(t *task) error { return answer(t, t.w.Trust().Deny, q, printTrustChange) },
	}
}

func trustAllow() *spec {
	var q rye.TrustAllowRequest
	return &spec{
		name: "allow", args: "<fingerprint | digest>",
		short:    "Remove a denial",
		long:     "Content that a registry revoked is denied again as soon as the registry is asked. Lines seen\nin .ai/denied and .ai/denied-keys are forgotten; a line that is still there applies.",
		examples: "rye trust allow SHA256:…",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Malformed},
		rights:   func() bool { return !q.DryRun },
		flags:    []cli.Flag{dryRun(&q.DryRun)},
		min:      1, max: 1, arg: &q.Subject,
		run: func(t *task) error { return answer(t, t.w.Trust().Allow, q, printTrustChange) },
	}
}

func trustOverride() *spec {
	var q rye.TrustOverrideRequest
	return &spec{
		name: "override", args: "<ref>",
		short:    "Let this project replace a reserved or bound item with its own",
		examples: "rye trust override tool:rye/bash/bash\nrye trust override tool:rye/bash/bash --remove",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Untrusted, fault.Malformed},
		rights:   func() bool { return !q.Remove && !q.DryRun },
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "remove", Destination: &q.Remove, Usage: "remove the permission"},
			dryRun(&q.DryRun),
		},
		min: 1, max: 2, ref: &q.Ref,
		run: func(t *task) error { return answer(t, t.w.Trust().Override, q, printTrustChange) },
	}
}

func trustPatch() *spec {
	var q rye.TrustPatchRequest
	return &spec{
		name: "patch", args: "<ref>",
		short: "Let a contributor's change of one item count here",
		long: `The bytes that the contributor signed count in this directory, also with --locked, and only
these: after any edit the grant means nothing. It ends when the signer is removed, or when
the version that was changed is denied. Only an owner of the namespace grants it, or the
user of a machine without a key, such as a build machine. rye review is the better way: then
an owner's signature counts for everyone.`,
		examples: "rye trust patch tool:acme/hello\nrye trust patch tool:acme/hello --digest sha256:… --yes\nrye trust patch tool:acme/hello --remove",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Integrity, fault.Untrusted, fault.Revoked, fault.Denied, fault.Malformed, fault.Limit},
		rights:   func() bool { return !q.Remove && !q.DryRun },
		flags: []cli.Flag{
			&cli.StringFlag{Name: "key", Destination: &q.Key, Usage: "the contributor's public `key`, if rye does not know it"},
			&cli.StringFlag{Name: "digest", Destination: &q.Digest, Usage: "`sha256:…` of the file that you looked at; another file is refused"},
			&cli.BoolFlag{Name: "remove", Destination: &q.Remove, Usage: "take the grant back"},
			dryRun(&q.DryRun),
		},
		min: 1, max: 2, ref: &q.Ref,
		run: func(t *task) error { return answer(t, t.w.Trust().Patch, q, printTrustChange) },
	}
}

func trustForget() *spec {
	var q rye.TrustForgetRequest
	return &spec{
		name: "forget", args: "[fingerprint | digest | project]",
		short: "Remove your grants",
		long: `A fingerprint removes the grants of that key in every directory. A digest, as rye trust
--dry-run shows it, removes that part of this directory's grants. A project is its
directory, its id in trust list, or the current one: all its grants are removed.`,
		examples: "rye trust forget\nrye trust forget ../old\nrye trust forget SHA256:…\nrye trust forget sha256:…",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Malformed},
		flags:    []cli.Flag{dryRun(&q.DryRun)},
		max:      1, arg: &q.Subject,
		run: func(t *task) error {
			if len(q.Subject) != 32 && q.Subject != "" && !strings.Contains(q.Subject, ":") {
				q.Subject = t.path(q.Subject)
			}
			return answer(t, t.w.Trust().Forget, q, printTrustChange)
		},
	}
}

func trustExplain() *spec {
	var q rye.ItemRequest
	return &spec{
		name: "explain", args: "<ref>",
		short:    "Show why an item is trusted or not, check by check",
		long:     "Shows each space with the item, the one that is used first. The exit status is the one\nfor using the item.",
		examples: "rye trust explain tool:acme/hello\nrye trust explain tool:acme/hello --json",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Integrity, fault.Untrusted, fault.Revoked, fault.Rollback, fault.Malformed},
		min:      1, max: 2, ref: &q.Ref,
		run: func(t *task) error {
			all, err := t.w.Trust().Explain(t.ctx, t.env.Caller, q)
			return cmp.Or(each(t.out, all, printExplanation), err)
		},
	}
}

func printExplanation(p *printer, e rye.TrustExplanation) {
	verdict, use := good("trusted"), "used"
	if !e.OK {
		verdict = bad("refused")
	}
	if !e.Used {
		use = "shadowed"
	}
	p.printf("%s  %s  in the %s space, %s\n", verdict, e.Ref, e.Space, use)
	for _, c := range e.Checks {
		p.printf("  %s  %-11s  %s\n", checkMark(c), c.Name, prose(c.Text))
	}
}

func trustImport() *spec {
	var q rye.TrustImportRequest
	return &spec{
		name: "import", args: "<file | directory>",
		short: "Trust keys that RYE OS trusted",
		long: `Reads .pem and .toml files of .ai/trusted_keys and .ai/config/keys/trusted. In RYE OS each
key could sign everything; here each is trusted for the namespaces that you name. rye shows
the keys and asks you. Without a terminal you need every key's --fingerprint, which its
owner gave you, and --yes.`,
		examples: "rye trust import ~/.ai/trusted_keys --namespace leo --dry-run\nrye trust import 9fbfabe975fa5a7f.toml --namespace leo",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Integrity, fault.Untrusted, fault.Revoked, fault.Denied, fault.Malformed, fault.Limit},
		rights:   func() bool { return !q.DryRun },
		flags: []cli.Flag{
			repeated("namespace", &q.Namespaces, "`namespace` to trust the keys for; repeatable"),
			repeated("fingerprint", &q.Fingerprints, "`SHA256:…` of a key, which its owner gave you; repeatable"),
			&cli.StringFlag{Name: "space", Destination: &q.Space, Usage: "`space` to trust them in: user or project (default: both)"},
			dryRun(&q.DryRun),
		},
		min: 1, max: 1, arg: &q.From,
		run: func(t *task) error {
			q.From = t.path(q.From)
			return answerAlways(t, t.w.Trust().Import, q, printTrustImport)
		},
	}
}

func printTrustImport(p *printer, rep *rye.TrustImport, _ bool) {
	var rows [][]any
	for _, k := range rep.Keys {
		rows = append(rows, []any{statusMark(k.Status, k.Error), k.Fingerprint, k.Owner, prose(cmp.Or(k.Error, k.Legacy))})
	}
	p.table(rows)
}

func trustAllowedSigners() *spec {
	return &spec{
		name: "allowed-signers", short: "Print the trusted keys for git's allowedSignersFile",
		examples: "rye trust allowed-signers > ~/.config/git/allowed_signers\ngit config gpg.ssh.allowedSignersFile ~/.config/git/allowed_signers",
		exits:    []fault.Code{fault.Usage, fault.Malformed},
		run: func(t *task) error {
			text, err := t.w.Trust().AllowedSigners(t.ctx, t.env.Caller)
			if err != nil {
				return err
			}
			return t.out.show(map[string]string{"allowed_signers": text}, func() { t.out.content(text) })
		},
	}
}
