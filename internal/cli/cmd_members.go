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
		Usage: "new `file` for the proposal, where more keys must agree (default registry-<root or namespace>-<position>.txt)"}
}

func registryGrant() *spec {
	var q rye.GrantRequest
	return &spec{
		name: "grant", args: "<namespace> [key…]",
		short: "Give a namespace to keys, as a holder of the root",
		long: `A key is a line like ssh-ed25519 AAAA… in quotes, a file that holds one (what its
owner's rye key show --ssh prints), or the SHA256:… of a key that is known here. What was
granted before is shown and replaced. Members of a namespace stay members when it is granted
to others, who then join, and every reader is asked before that counts. Where your root key
is not enough, the change is written to a file, as with rye registry root.
--repository says that the namespace lies in another repository, to which its branches were
brought before (rye registry mirror push --to): whose it is stays the root's word.`,
		examples: "rye registry grant acme 'ssh-ed25519 AAAA…'\nrye registry grant acme --repository https://example.org/acme.git\nrye registry grant acme bob.pub --dry-run\nrye registry grant acme bob.pub carol.pub --yes --json",
		exits:    sharing,
		flags: []cli.Flag{rootName(&q.Registry), proposalFile(&q.Out), dryRun(&q.DryRun),
			&cli.StringFlag{Name: "repository", Destination: &q.Located, Usage: "it lies in the repository at this `address`; - is the registry's own (default: as now)"}},
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
		short: "Vouch for how far namespaces are, as a holder of the root",
		long: `From then on readers refuse to be shown less, and newcomers need not read what lies
before. Without a namespace, every one that moved on since its last checkpoint. --fresh says
how long they may be taken for the newest: after that readers are warned, or refuse (14)
where their policy says stale: refuse. So do it again before.`,
		examples: "rye registry checkpoint\nrye registry checkpoint --fresh 720h\nrye registry checkpoint acme --dry-run",
		exits:    sharing,
		flags: []cli.Flag{rootName(&q.Registry), proposalFile(&q.Out), dryRun(&q.DryRun),
			&cli.DurationFlag{Name: "fresh", Destination: &q.Fresh, Usage: "readers may take it for the newest so long: a `duration`, as in 720h"}},
		max: many,
		run: func(t *task) error {
			if q.Fresh < 0 {
				return fault.New(fault.Usage, "registry checkpoint: --fresh %s: want a time to come", q.Fresh)
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
		short: "Show whose keys sign for a namespace, let keys in, take them out",
		long: `Without a namespace, that of the project. Somebody comes in by two commands: --join, run
by the owner of the key, prints a line for --add, which a member runs. The line proves that
the owner of the key agrees, and is good for this namespace only. Where the root granted you
the namespace, --join makes you a member at once. A retired key signs no more and
never comes back; what it signed stays good. For a stolen key see rye registry revoke-key.
--threshold says how many members must agree to what changes whose the namespace is, or
cannot be taken back: changes of keys, transfer, revoke, redact. Such a change is then
written to a file, as with rye registry root: rye registry approve adds to it, and rye
registry commit publishes it.`,
		examples: "rye registry members acme\nrye registry members acme --join\nrye registry members acme --add 'ssh-ed25519 AAAA… <proof>'\nrye registry members acme --retire SHA256:… --dry-run\nrye registry members acme --threshold 2",
		exits:    sharing,
		flags: []cli.Flag{registryName(&q.Registry),
			repeated("add", &q.Add, "let in who sent this `request`: the line, or a file that holds it; repeatable"),
			repeated("retire", &q.Retire, "this `key` signs no more: SHA256:…, a line or a file; repeatable"),
			&cli.BoolFlag{Name: "join", Destination: &q.Join, Usage: "ask to be let in, with your key"},
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
	return &cli.IntFlag{Name: "threshold", Destination: into, Usage: "from then on `N` members must agree to what changes owners or cannot be taken back"}
}

// members runs a change of a namespace's members.
func (t *task) members(q rye.MembersRequest) error {
	if q.Threshold < 0 {
		return fault.New(fault.Usage, "registry members: threshold %d", q.Threshold)
	}
	if q.Out != "" {
		q.Out = t.path(q.Out)
	}
	return answer(t, t.w.Registry().Members, q, printMembers)
}

func printMembers(p *printer, rep *rye.MembersReport) {
	if rep.Status == "requested" {
		p.printf("%s\n", typed(rep.Command...)) // another person types it, so it is not a hint
		p.infof("send this to a member of %s, who runs it", rep.Namespace)
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
		p.printf("  %d members must agree to what changes owners or cannot be taken back\n", rep.Threshold)
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
		p.infof("nobody has published anything there yet")
	}
}

func registryTransfer() *spec {
	var q rye.MembersRequest
	return &spec{
		name: "transfer", args: "<namespace> <request…>",
		short: "Hand a namespace on to other owners, as a member",
		long: `Each new owner runs rye registry members <namespace> --join and sends what that prints. They
take the place of every present member; what those signed stays good. Every reader is asked
before they follow. The whole history is verified first.`,
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
		short: "Take back what stolen keys signed for a namespace, as a member",
		long: `Everything that the key published from an operation on, and every key that it added
there, is revoked with it, for good and for every reader. What lies before stays. rye
registry log has the positions; by default only what is yet to come is refused.

Where the key signed what does not follow, or what no host serves, its operations from there on
are dropped: their versions leave the catalogue, and what was marked is as it was before. Several
stolen keys are named together: one whose operation does not follow keeps you from revoking
another alone. All of them are revoked, or none. A key that the root grants the namespace to
becomes a member first.`,
		examples: "rye registry revoke-key acme SHA256:… --reason 'laptop stolen'\nrye registry revoke-key acme SHA256:… --from 12 --reason 'laptop stolen' --dry-run\nrye registry revoke-key acme SHA256:… SHA256:… --reason 'laptops stolen' --drop",
		exits:    sharing,
		flags: []cli.Flag{registryName(&q.Registry),
			&cli.Uint64Flag{Name: "from", Destination: &q.From, Usage: "the first `operation` by each key that does not count (default the next)"},
			&cli.StringFlag{Name: "reason", Destination: &q.Reason, Usage: "`why`, for everybody who meets the key (required)"},
			&cli.BoolFlag{Name: "drop", Destination: &q.Drop, Usage: "drop operations that can be read, too, where it has to be"},
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
		short: "Say that a malformed operation is known, as a member",
		long: `An operation that a member signed and that cannot be applied has no effect. Readers skip
it and report it until it is voided. Whoever signed it has the key of a member: ask its
owner, and where the key was stolen, rye registry revoke-key comes first. A key that the
root grants the namespace to may void, too. Nothing else is undone by it.`,
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
		short: "Take a registry from this project, or forget it everywhere",
		long: `Its scopes go with it; items that the project has from it have to be removed first.
With --everywhere you also stop believing it: whose its namespaces are counts in no project
any more, and adding it again shows its identity again. What it was seen to say is kept, so
that nobody can show you an older one then.`,
		examples: "rye registry remove main\nrye registry remove main --everywhere\nrye registry remove sha256:… --everywhere --dry-run",
		exits:    sharing,
		flags: []cli.Flag{&cli.BoolFlag{Name: "everywhere", Destination: &q.Everywhere, Usage: "and what you believe of it, in every project; its identity may stand for its name"},
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
