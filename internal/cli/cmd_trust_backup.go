package cli

import (
	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

func trustBackup() *spec {
	return &spec{
		name: "backup", args: "<file>",
		short: "Write your trust, denials and verified states into a signed file",
		long: `The file holds trust.yaml with its grants and denials, the lists of retired keys, and the
states of registries and the signers' lines that rye has verified. It holds no private key;
rye key export writes one. Your key signs the file. Write down the key's fingerprint: you
need it where that key is not one of yours.`,
		examples: "rye trust backup ~/trust.backup",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Integrity, fault.Auth, fault.Untrusted, fault.Revoked, fault.Malformed, fault.Limit},
		min:      1, max: 1,
		run: func(t *task) error {
			return answer(t, t.w.Trust().Backup, rye.TrustBackupRequest{Out: t.path(t.args[0])}, func(p *printer, b *rye.TrustBackup) {
				p.infof("wrote %s: %s, %s, %s, %s", words.Quote(b.Out), words.Plural(b.Denials, "denial"), words.Plural(b.Grants, "grant"),
					words.Plural(b.Retired, "retired key"), words.Plural(b.Registries, "registry state"))
				p.infof("signed by %s", b.Signer)
			})
		},
	}
}

func trustRestore() *spec {
	var q rye.TrustRestoreRequest
	return &spec{
		name: "restore", args: "<file>",
		short: "Merge a file of rye trust backup into your trust",
		long: `Restrictions are merged at once: denials, retired keys, removed signers, revoked versions, and
the latest state of each registry. Nothing that is refused here is accepted again, and no
key becomes yours: rye key import does that. Permissions are listed. With --grants you are
asked about them at a terminal: about pinned keys, and about this directory, as far as it
still asks for them. In each further project, run the command again.`,
		examples: "rye trust restore ~/trust.backup --dry-run\nrye trust restore ~/trust.backup --fingerprint SHA256:…\nrye trust restore ~/trust.backup --grants",
		exits: []fault.Code{fault.Usage, fault.NotFound, fault.Integrity, fault.Auth, fault.Untrusted, fault.Revoked, fault.Fork, fault.Denied,
			fault.Malformed, fault.Limit},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "fingerprint", Destination: &q.Fingerprint, Usage: "`SHA256:…` of the key that signed the file, if it is not one of yours here"},
			&cli.BoolFlag{Name: "grants", Destination: &q.Grants, Usage: "also ask about the permissions for this directory and the user space"},
			dryRun(&q.DryRun),
		},
		min: 1, max: 1,
		run: func(t *task) error {
			q.File = t.path(t.args[0])
			return answerAlways(t, t.w.Trust().Restore, q, func(p *printer, r *rye.TrustRestore, ok bool) {
				p.printRestore(r, ok && !q.Grants)
			})
		},
	}
}

func (p *printer) printRestore(r *rye.TrustRestore, hint bool) {
	var rows [][]any
	for _, c := range r.Changes {
		rows = append(rows, []any{c.Status, c.Kind, c.Subject, prose(c.Detail)})
	}
	p.table(rows)
	if len(rows) == 0 {
		p.infof("nothing to restore: everything in %s is here", words.Quote(r.File))
	}
	if r.Left > 0 {
		p.infof("it also holds grants for %s: run rye trust restore --grants there", words.Plural(r.Left, "other project"))
	}
	if r.Asked > 0 && hint {
		p.infof("next: %s", typed("rye", "trust", "restore", r.File, "--grants"))
	}
	if r.DryRun {
		p.infof("nothing was changed: --dry-run")
	}
}
