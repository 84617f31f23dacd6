package cli

import (
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// proposalFile is the flag for commands whose change other key holders may have to approve.
func proposalFile(into *string) cli.Flag {
	return &cli.StringFlag{Name: "out", Aliases: []string{"o"}, Destination: into,
		Usage: "write the proposal to this new `file` if more keys must agree (default registry-<root or namespace>-<position>.txt)"}
}

func registryGrant() *spec {
	var q rye.GrantRequest
	return &spec{
		name: "grant", args: "<namespace> [key…]",
		short: "Grant a namespace to keys, as a holder of the root",
		long: `A key is a quoted line like ssh-ed25519 AAAA…, a file with such a line (the output of its
owner's rye key show --ssh), or the SHA256:… of a known key. rye shows the earlier grant
and replaces it. The present members stay members, and the new keys join them. Every
reader is asked before they accept the new keys. If your root key is not enough, the
change is written to a file, as with rye registry root.
--repository says that the namespace lies in another repository, to which its branches were
copied before (rye registry mirror push --to). The root still decides who owns it.`,
		examples: "rye registry grant acme 'ssh-ed25519 AAAA…'\nrye registry grant acme --repository https://example.org/acme.git\nrye registry grant acme bob.pub --dry-run\nrye registry grant acme bob.pub carol.pub --yes --json",
		exits:    sharing,
		flags: []cli.Flag{rootName(&q.Registry), proposalFile(&q.Out), dryRun(&q.DryRun),
			&cli.StringFlag{Name: "repository", Destination: &q.Located, Usage: "the `address` of its repository; - is the registry's own (default: unchanged)"}},
		min: 1, max: many,
		run: func(t *task) (err error) {
			q.Namespace = t.args[0]
			if len(t.args) == 1 && q.Located == "" {
				return fault.New(fault.Usage, "registry grant %s: no key", q.Namespace).Advise("rye registry grant %s <key>", q.Namespace)
			}
			if q.Located != "-" {
				q.Located = t.remote(q.Located)
			}
			if q.Keys, err = t.publicKeys(t.args[1:]); err != nil {
				return err
			}
			if q.Out != "" {
				q.Out = t.path(q.Out)
			}
			return answer(t, t.w.Registry().Grant, q, printRootChange)
		},
	}
}

func registryCheckpoint() *spec {
	var q rye.CheckpointRequest
	return &spec{
		name: "checkpoint", args: "[namespace…]",
		short: "Sign the present position of namespaces, as a holder of the root",
		long: `Afterwards readers refuse older logs, and new readers need not read the log before the
checkpoint. Without a namespace, rye checkpoints every namespace that has changed since its
last checkpoint. --fresh limits how long readers accept it as the newest state. After that
time readers are warned, or refuse (14) if their policy says stale: refuse. So repeat the
command in time.`,
		examples: "rye registry checkpoint\nrye registry checkpoint --fresh 720h\nrye registry checkpoint acme --dry-run",
		exits:    sharing,
		flags: []cli.Flag{rootName(&q.Registry), proposalFile(&q.Out), dryRun(&q.DryRun),
			&cli.DurationFlag{Name: "fresh", Destination: &q.Fresh, Usage: "how long readers accept it as the newest: a `duration`, as in 720h"}},
		max: many,
		run: func(t *task) error {
			if q.Fresh < 0 {
				return fault.New(fault.Usage, "registry checkpoint: --fresh %s: want a time in the future", q.Fresh)
			}
			q.Namespaces = t.args
			if q.Out != "" {
				q.Out = t.path(q.Out)
			}
			return answer(t, t.w.Registry().Checkpoint, q, printRootChange)
		},
	}
}

func registryMembers() *spec {
	var q rye.MembersRequest
	return &spec{
		name: "members", args: "[namespace]",
		short: "Show, add and retire the keys of a namespace",
		long: `The default is the project's namespace. A new member needs two commands: --join, run by the
owner of the key, prints a line, and a member passes that line to --add. The line proves
that the owner of the key agrees, and is valid for this namespace only. If the root granted
you the namespace, --join makes you a member at once. A retired key signs no more and never
comes back; its earlier signatures stay valid. For a stolen key see rye registry revoke-key.
--threshold sets how many members must agree to changes of owners and to final changes:
changes of keys, transfer, revoke, redact. Such a change is then written to a file, as with
rye registry root: rye registry approve adds an approval, and rye registry commit publishes it.`,
		examples: "rye registry members acme\nrye registry members acme --join\nrye registry members acme --add 'ssh-ed25519 AAAA… <proof>'\nrye registry members acme --retire SHA256:… --dry-run\nrye registry members acme --threshold 2",
		exits:    sharing,
		flags: []cli.Flag{registryName(&q.Registry),
			repeated("add", &q.Add, "add the sender of this `request`: the line, or a file that holds it; repeatable"),
			repeated("retire", &q.Retire, "retire this `key`: SHA256:…, a line or a file; repeatable"),
			&cli.BoolFlag{Name: "join", Destination: &q.Join, Usage: "ask to become a member, with your key"},
			memberThreshold(&q.Threshold), proposalFile(&q.Out), dryRun(&q.DryRun)},
		max: 1, arg: &q.Namespace,
		run: func(t *task) (err error) {
			if q.Add, err = t.publicKeys(q.Add); err != nil {
				return err
			}
			if q.Retire, err = t.publicKeys(q.Retire); err != nil {
				return err
			}
			return t.members(q)
		},
	}
}

// memberThreshold is the flag for the number of members that must agree.
func memberThreshold(into *int) cli.Flag {
	return &cli.IntFlag{Name: "threshold", Destination: into, Usage: "afterwards `N` members must agree to changes of owners and to final changes"}
}

// members runs a change of a namespace's members.
func (t *task) members(q rye.MembersRequest) error {
	if q.Threshold < 0 {
		return fault.New(fault.Usage, "registry members: --threshold %d: want 1 or more", q.Threshold)
	}
	if q.Out != "" {
		q.Out = t.path(q.Out)
	}
	return answer(t, t.w.Registry().Members, q, printMembers)
}

func printMembers(p *printer, rep *rye.MembersReport) {
	if rep.Status == "requested" {
		p.printf("%s\n", typed(rep.Command...)) // another person types it, so it is not a hint
		p.infof("send this to a member of %s, to run it", rep.Namespace)
		return
	}
	if rep.Proposal != nil {
		printRootChange(p, rep.Proposal)
		return
	}
	for _, line := range rep.Changes {
		p.printf("%s  %s\n", good(rep.Status), prose(line))
	}
	p.printf("%s  in %s, at %d\n", bold(rep.Namespace), rep.Registry, rep.Seq)
	if rep.Threshold > 1 {
		p.printf("  %d members must agree to changes of owners and to final changes\n", rep.Threshold)
	}
	for _, k := range rep.Granted {
		p.printf("  granted  %s\n", k)
	}
	for _, k := range rep.Members {
		whose := ""
		if k.Own {
			whose = "  yours"
		}
		p.printf("  %-7s  %s  added by operation %s%s%s\n", k.State, k.Fingerprint, strconv.FormatUint(k.Added, 10), prose(prefixed(": ", k.Reason)), faint(prose(whose)))
	}
	if len(rep.Members) == 0 {
		p.infof("it has no published versions yet")
	}
}

func registryTransfer() *spec {
	var q rye.MembersRequest
	return &spec{
		name: "transfer", args: "<namespace> <request…>",
		short: "Transfer a namespace to other owners, as a member",
		long: `Each new owner runs rye registry members <namespace> --join and sends the output. The new
owners replace all present members, whose earlier signatures stay valid. Every reader is
asked before they follow. rye first verifies the whole history.`,
		examples: "rye registry transfer acme 'ssh-ed25519 AAAA… <proof>' --dry-run",
		exits:    sharing,
		flags:    []cli.Flag{registryName(&q.Registry), memberThreshold(&q.Threshold), proposalFile(&q.Out), dryRun(&q.DryRun)},
		min:      2, max: many,
		run: func(t *task) (err error) {
			q.Namespace = t.args[0]
			if q.Transfer, err = t.publicKeys(t.args[1:]); err != nil {
				return err
			}
			return t.members(q)
		},
	}
}

func registryRevokeKey() *spec {
	var q rye.RevokeKeyRequest
	return &spec{
		name: "revoke-key", args: "<namespace> <key…>",
		short: "Revoke the operations of stolen keys in a namespace, as a member",
		long: `Revokes every version that the key published from an operation on, and every key that it
added there, for good and for every reader. Earlier versions stay. rye registry log shows
the positions; by default only future operations are refused.

If the key signed an operation that does not follow from the log, or that no host serves,
its operations from there on are dropped. Their versions leave the catalogue, and marks
return to their former state. Name several stolen keys together, because an invalid operation
of one key blocks the revocation of another. All of them are revoked, or none. A key that
holds a grant of the root becomes a member first.`,
		examples: "rye registry revoke-key acme SHA256:… --reason 'laptop stolen'\nrye registry revoke-key acme SHA256:… --from 12 --reason 'laptop stolen' --dry-run\nrye registry revoke-key acme SHA256:… SHA256:… --reason 'laptops stolen' --drop",
		exits:    sharing,
		flags: []cli.Flag{registryName(&q.Registry),
			&cli.Uint64Flag{Name: "from", Destination: &q.From, Usage: "the first refused `operation` of each key (default the next)"},
			&cli.StringFlag{Name: "reason", Destination: &q.Reason, Usage: "`text`, shown to every reader of the key (required)"},
			&cli.BoolFlag{Name: "drop", Destination: &q.Drop, Usage: "also drop readable operations where the revocation requires it"},
			proposalFile(&q.Out), dryRun(&q.DryRun)},
		min: 2, max: many,
		run: func(t *task) (err error) {
			q.Namespace = t.args[0]
			if q.Keys, err = t.publicKeys(t.args[1:]); err != nil {
				return err
			}
			if q.Out != "" {
				q.Out = t.path(q.Out)
			}
			return answer(t, t.w.Registry().RevokeKey, q, printMembers)
		},
	}
}

func registryVoid() *spec {
	var q rye.VoidRequest
	return &spec{
		name: "void", args: "<namespace> <position>",
		short: "Void a malformed operation, as a member",
		long: `An operation that a member signed and that cannot be applied has no effect. Readers skip
it and report it until it is voided. Its signer has the key of a member: ask the owner of
the key first. If the key was stolen, run rye registry revoke-key before this. A key with a
grant of the root may void too. Voiding undoes nothing else.`,
		examples: "rye registry void acme 12\nrye registry void acme 12 --dry-run",
		exits:    sharing,
		flags:    []cli.Flag{registryName(&q.Registry), proposalFile(&q.Out), dryRun(&q.DryRun)},
		min:      2, max: 2,
		run: func(t *task) (err error) {
			q.Namespace = t.args[0]
			if q.Seq, err = strconv.ParseUint(t.args[1], 10, 64); err != nil {
				return fault.New(fault.Usage, "registry void %s: position %q: want a number", q.Namespace, words.Brief(t.args[1])).
					Advise("rye registry log %s shows the positions", q.Namespace)
			}
			if q.Out != "" {
				q.Out = t.path(q.Out)
			}
			return answer(t, t.w.Registry().Void, q, printMembers)
		},
	}
}

func registryRemove() *spec {
	var q rye.RegistryRemoveRequest
	return &spec{
		name: "remove", aliases: []string{"rm"}, args: "<name>",
		short: "Remove a registry from this project, or everywhere",
		long: `Removes the registry with its scopes; first remove the items that came from it. With
--everywhere you also stop trusting it: it no longer decides who owns its namespaces in any
project, and adding it again shows its identity again. rye keeps the log that it has seen,
so that no one can show you an older one then.`,
		examples: "rye registry remove main\nrye registry remove main --everywhere\nrye registry remove sha256:… --everywhere --dry-run",
		exits:    sharing,
		flags: []cli.Flag{&cli.BoolFlag{Name: "everywhere", Destination: &q.Everywhere, Usage: "also remove your trust in it, in every project; its identity may replace its name"},
			dryRun(&q.DryRun)},
		min: 1, max: 1, arg: &q.Name,
		run: func(t *task) error {
			return answer(t, t.w.Registry().Remove, q, func(p *printer, rep *rye.RegistryRemoveReport) {
				did := removed.mark(rep.DryRun)
				p.resultf(rep.DryRun, "%s  %s\n", did, prose(strings.TrimSpace(words.Quote(rep.Name)+"  "+words.Quote(rep.ID))))
				for _, scope := range rep.Scopes {
					p.resultf(rep.DryRun, "  scope      %s\n", scope)
				}
				for _, ns := range rep.Namespaces {
					p.resultf(rep.DryRun, "  unbound    %s\n", ns)
				}
			})
		},
	}
}
