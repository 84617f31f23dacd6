package cli

import (
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/workspace"
)

func registryRoot() *spec {
	return &spec{
		name:  "root",
		short: "Show and change the root keys of a registry",
		long: `The root keys decide who owns each namespace. A change needs as many of them as the
threshold, and the approval of every new root key. If your key is not enough, the change is
written to a file: send it to the other holders, who approve it, and one of them commits
it. The file is valid only for the present root.`,
		examples: "rye registry root show\nrye registry root add bob.pub --threshold 2\nrye registry root approve registry-root-3.txt\nrye registry root commit registry-root-3.txt",
		exits:    sharing,
		subs:     []*spec{rootShow(), rootAdd(), rootRemove(), rootThreshold(), rootApprove(), rootCommit()},
	}
}

func rootShow() *spec {
	var q rye.RegistryRequest
	return &spec{
		name:     "show",
		short:    "Show the root keys and how many of them must agree",
		examples: "rye registry root show\nrye registry root show --name main --json",
		exits:    sharing,
		flags:    []cli.Flag{rootName(&q.Registry)},
		run: func(t *task) error {
			return answer(t, t.w.Registry().Root, q, func(p *printer, info *rye.RootInfo) {
				p.printf("%s  %s\n  id         %s\n  claims     %s\n  threshold  %d of %d\n", bold(info.Name), info.URL, info.ID,
					info.Claims, info.Threshold, len(info.Keys))
				for _, k := range info.Keys {
					whose := ""
					if k.Own {
						whose = "  yours"
					}
					p.printf("  root       %s%s\n", k.Fingerprint, faint(prose(whose)))
				}
				p.infof("%d operations", info.Seq)
			})
		},
	}
}

func rootName(into *string) cli.Flag {
	return &cli.StringFlag{Name: "name", Destination: into, Usage: "the registry's `name` in this project, if it has several"}
}

// rootFlags returns the flags of every command that makes a proposal.
func rootFlags(q *rye.RootChangeRequest, threshold bool) []cli.Flag {
	flags := []cli.Flag{rootName(&q.Registry)}
	if threshold {
		flags = append(flags, &cli.IntFlag{Name: "threshold", Destination: &q.Threshold, Usage: "afterwards `N` root keys must agree (default: unchanged)"})
	}
	return append(flags,
		&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Destination: &q.Out, Usage: "new `file` for the proposal (default registry-root-<position>.txt)"},
		dryRun(&q.DryRun))
}

// propose runs a change of the root.
func (t *task) propose(q rye.RootChangeRequest) error {
	if q.Threshold < 0 {
		return fault.New(fault.Usage, "registry root: --threshold %d: want 1 or more", q.Threshold)
	}
	if q.Out != "" {
		q.Out = t.path(q.Out)
	}
	return answer(t, t.w.Registry().ChangeRoot, q, printRootChange)
}

func rootAdd() *spec {
	var q rye.RootChangeRequest
	return &spec{
		name: "add", args: "<key…>",
		short: "Propose new root keys",
		long: `A key is a file with a line like ssh-ed25519 AAAA…, such a line in quotes, or the SHA256:…
of a known key. Its holder must approve, to prove that they have the key. A key that is
already a root key is refused (11): one key counts as one holder, under any name.`,
		examples: "rye registry root add bob.pub\nrye registry root add bob.pub carol.pub --threshold 2 --out ceremony.txt",
		exits:    sharing,
		flags:    rootFlags(&q, true),
		min:      1, max: many,
		run: func(t *task) (err error) {
			if q.Add, err = t.publicKeys(t.args); err != nil {
				return err
			}
			return t.propose(q)
		},
	}
}

func rootRemove() *spec {
	var q rye.RootChangeRequest
	return &spec{
		name: "remove", aliases: []string{"rm"}, args: "<key…>",
		short:    "Propose to remove root keys",
		long:     "Earlier signatures of a removed key stay valid. If fewer keys than the threshold would\nremain, give --threshold, too.",
		examples: "rye registry root remove SHA256:…\nrye registry root remove SHA256:… --threshold 1",
		exits:    sharing,
		flags:    rootFlags(&q, true),
		min:      1, max: many,
		run: func(t *task) (err error) {
			if q.Remove, err = t.publicKeys(t.args); err != nil {
				return err
			}
			return t.propose(q)
		},
	}
}

// publicKeys reads every one of args as a key.
func (t *task) publicKeys(args []string) (list []string, err error) {
	for _, arg := range args {
		line, err := t.publicKey(arg)
		if err != nil {
			return nil, err
		}
		list = append(list, line)
	}
	return list, nil
}

func rootThreshold() *spec {
	var q rye.RootChangeRequest
	return &spec{
		name: "threshold", args: "<n>",
		short:    "Propose a new threshold of root keys",
		examples: "rye registry root threshold 2",
		exits:    sharing,
		flags:    rootFlags(&q, false),
		min:      1, max: 1,
		run: func(t *task) (err error) {
			if q.Threshold, err = keyCount(t.args[0]); err != nil {
				return err
			}
			return t.propose(q)
		},
	}
}

// keyCount reads a small positive number.
func keyCount(arg string) (int, error) {
	n, err := strconv.ParseUint(arg, 10, 14)
	if err != nil {
		return 0, fault.New(fault.Usage, "%q: want a number of keys", arg)
	}
	if n == 0 {
		return 0, fault.New(fault.Usage, "%q: want a number of keys, at least 1", arg)
	}
	return int(n), nil
}

func rootApprove() *spec {
	return proposalVerb(spec{
		name:     "approve",
		short:    "Approve a proposed change of the root",
		long:     "Shows the changes and checks them against the registry. If you agree, rye adds your key's\napproval to the file.",
		examples: "rye registry root approve registry-root-3.txt\nRYE_KEY=work rye registry root approve registry-root-3.txt",
	}, func(r workspace.Registry) proposal { return r.ApproveRoot })
}

func rootCommit() *spec {
	return proposalVerb(spec{
		name:     "commit",
		short:    "Publish a change of the root with enough approvals",
		long:     "Your key signs the change, and counts once even if it approved before. If the root changed\nmeanwhile, the proposal is void (4).",
		examples: "rye registry root commit registry-root-3.txt",
	}, func(r workspace.Registry) proposal { return r.CommitRoot })
}

// proposal is a verb that takes the file of a proposal.
type proposal = verb[rye.RootProposalRequest, *rye.RootChange]

// proposalVerb completes a command that takes the file of a proposal.
func proposalVerb(s spec, verbOf func(workspace.Registry) proposal) *spec {
	var q rye.RootProposalRequest
	s.args, s.min, s.max, s.exits = "<file>", 1, 1, sharing
	s.flags = []cli.Flag{rootName(&q.Registry), dryRun(&q.DryRun)}
	s.run = func(t *task) error {
		q.File = t.path(t.args[0])
		return answer(t, verbOf(t.w.Registry()), q, printRootChange)
	}
	return &s
}

// printRootChange shows the state of a proposed change.
func printRootChange(p *printer, c *rye.RootChange) {
	p.printf("%s  %s\n", good(c.Status), prose(c.Changes[0]))
	for _, line := range c.Changes[1:] {
		p.printf("  %s\n", prose(line))
	}
	p.printf("  agreed %d of %d\n", c.Have, c.Want)
	for _, k := range c.Newcomers {
		p.printf("  missing  approval of %s, a new root key\n", k)
	}
	switch {
	case c.File == "":
	case c.Complete:
		p.infof("next: %s", typed(registryVerb(c, "commit")...))
	default:
		p.infof("next: send %s to the other holders, to run %s", c.File, typed(registryVerb(c, "approve")...))
	}
}

// registryVerb returns the command line that applies a verb to the file of a proposal.
func registryVerb(c *rye.RootChange, verb string) []string {
	if c.Namespace == "" {
		return []string{"rye", "registry", "root", verb, c.File}
	}
	return []string{"rye", "registry", verb, c.File}
}

// The verbs for every proposal, for the root or a namespace. The file decides which.

func registryApprove() *spec {
	s := rootApprove()
	s.short = "Approve a proposed change of a namespace or of the root"
	s.examples = "rye registry approve registry-acme-7.txt\nRYE_KEY=work rye registry approve registry-acme-7.txt --dry-run"
	return s
}

func registryCommit() *spec {
	s := rootCommit()
	s.short = "Publish a change of a namespace or of the root with enough approvals"
	s.long = "Your key signs the change, and counts once even if it approved before. If the namespace or\nthe root changed meanwhile, the proposal is void (4)."
	s.examples = "rye registry commit registry-acme-7.txt"
	return s
}
