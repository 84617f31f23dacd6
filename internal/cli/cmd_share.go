package cli

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/app"
	"github.com/rye-os/rye/internal/words"
)

// sharing are the exit codes of commands that contact a registry.
var sharing = []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Network, fault.Auth, fault.Integrity, fault.Untrusted,
	fault.Revoked, fault.Rollback, fault.Stale, fault.Fork, fault.Denied, fault.Offline, fault.Malformed, fault.Limit}

func registryCommand() *spec {
	return &spec{
		name: "registry", group: "Share",
		short:    "Create, add and inspect registries",
		long:     "A registry is a git repository: a URL, or a directory on this machine.",
		examples: "rye registry init ./registry.git --namespace acme\nrye registry add https://example.org/registry.git\nrye registry list",
		exits:    sharing,
		subs: []*spec{registryInit(), registryAdd(), registryRemove(), registryList(), registryMirror(), registryVerify(), registryLog(),
			registryGrant(), registryMembers(), registryTransfer(), registryRevokeKey(), registryVoid(), registryApprove(), registryCommit(), registryCheckpoint(), registryRedact(), registryRebuild(), registryRoot(), registryProtect(), registryHook(), registryCI()},
	}
}

func registryInit() *spec {
	var q rye.RegistryInitRequest
	return &spec{
		name: "init", args: "<url>",
		short:    "Create a registry in an empty repository",
		long:     "Creates the directory if it does not exist. Your key becomes the root key, and the\nregistry is added to this project.",
		examples: "rye registry init ./registry.git --namespace acme\nrye registry init https://example.org/registry.git --open",
		exits:    sharing,
		flags: []cli.Flag{
			registryName(&q.Name),
			&cli.BoolFlag{Name: "open", Destination: &q.Open, Usage: "anyone may claim a free namespace"},
			&cli.BoolFlag{Name: "tags", Destination: &q.Tags, Usage: "publishers also push a tag for each version, for hosts that serve only objects under a ref"},
			repeated("namespace", &q.Namespaces, "bind this `namespace` to your key (default the project's); repeatable"),
		},
		min: 1, max: 1, arg: &q.URL,
		run: func(t *task) error {
			q.URL = t.remote(q.URL)
			if err := answer(t, t.w.Registry().Init, q, printRegistry); err != nil {
				return err
			}
			t.out.infof("next: protect the repository's branches; rye registry protect prints how")
			return nil
		},
	}
}

func registryAdd() *spec {
	var q rye.RegistryAddRequest
	return &spec{
		name: "add", args: "<url>",
		short: "Add a registry to this project",
		long: `Shows the registry's identity and root keys. If you agree, they are saved in rye.yaml, and
the registry is trusted in this directory and your user space. With --identity, as its
owners publish it elsewhere, rye asks nothing; the identity in a project's rye.yaml proves
nothing. For a registry that the project already names, rye trust shows everything that the
project asks you to trust.`,
		examples: "rye registry add https://example.org/registry.git\nrye registry add ./registry.git --name acme --scope acme --identity sha256:…",
		exits:    sharing,
		flags: []cli.Flag{
			registryName(&q.Name),
			&cli.StringFlag{Name: "identity", Aliases: []string{"id"}, Destination: &q.ID, Usage: "the `identity` it must have, sha256:…"},
			repeated("scope", &q.Scopes, "a `namespace` that comes from it (default all); repeatable"),
		},
		min: 1, max: 1, arg: &q.URL,
		run: func(t *task) error {
			q.URL = t.remote(q.URL)
			return answer(t, t.w.Registry().Add, q, printRegistry)
		},
	}
}

// remote makes a directory on this machine absolute and leaves URLs and host:path
// unchanged. As in git, a colon before any slash means a host.
func (t *task) remote(arg string) string {
	colon, slash := strings.IndexByte(arg, ':'), strings.IndexByte(arg, '/')
	if colon >= 0 && (slash < 0 || colon < slash) && filepath.VolumeName(arg) == "" {
		return arg
	}
	if arg == "" || arg[0] == '-' {
		return arg
	}
	return t.path(arg)
}

func registryName(into *string) cli.Flag {
	return &cli.StringFlag{Name: "name", Destination: into, Usage: "its `name` in this project (default main)"}
}

func registryList() *spec {
	return &spec{
		name: "list", aliases: []string{"ls"},
		short:    "List the registries of this project",
		examples: "rye registry list",
		exits:    []fault.Code{fault.Usage, fault.Malformed},
		run:      func(t *task) error { return answerRegistries(t, bare(t.w.Registry().List), none) },
	}
}

func registryVerify() *spec {
	var q rye.RegistryVerifyRequest
	return &spec{
		name: "verify", args: "[name]",
		short: "Verify a registry's whole history and all its objects",
		long: `Verifies every operation from the first on, with everything that it wrote, and fetches and
compares every version. Versions that an earlier run fetched are fetched again only with
--whole. Objects that the host lost or hides are an error (5). Redacted versions and old
unsigned states may be missing.`,
		examples: "rye registry verify\nrye registry verify main --whole",
		exits:    sharing,
		flags:    []cli.Flag{&cli.BoolFlag{Name: "whole", Destination: &q.Whole, Usage: "also fetch the versions of earlier runs again"}},
		max:      1, arg: &q.Registry,
		run: func(t *task) error { return answerRegistries(t, t.w.Registry().Verify, q) },
	}
}

func registryRebuild() *spec {
	var q rye.RebuildRequest
	return &spec{
		name: "rebuild", args: "<namespace>",
		short: "Rebuild a namespace's content branch, as a member",
		long: `The new branch leaves out redacted versions and old states, so that the host may delete
their bytes. Objects that the host lost and this machine has are sent again. The host must
allow force pushes to content/<namespace>. rye verifies everything first.`,
		examples: "rye registry rebuild acme --dry-run",
		exits:    sharing,
		flags:    []cli.Flag{registryName(&q.Registry), dryRun(&q.DryRun)},
		min:      1, max: 1, arg: &q.Namespace,
		run: func(t *task) error {
			return answer(t, t.w.Registry().Rebuild, q, func(p *printer, c *rye.RegistryCheck) {
				p.resultf(q.DryRun, "%s  content/%s\n", rebuilt.mark(q.DryRun), c.Namespace)
				p.printCheck(c)
			})
		},
	}
}

func (p *printer) printCheck(c *rye.RegistryCheck) {
	p.printf("  verified  %s: %d operations, %d versions, %d fetched", c.Namespace, c.Operations, c.Versions, c.Fetched)
	if c.Threshold > 1 {
		p.printf(", %d keys must agree", c.Threshold)
	}
	if c.Redacted > 0 {
		p.printf(", %d redacted", c.Redacted)
	}
	if c.Pruned > 0 {
		p.printf(", %d old states gone", c.Pruned)
	}
	p.printf("\n")
	for _, what := range c.Missing {
		p.printf("  missing   %s\n", prose(what))
	}
}

func registryLog() *spec {
	var q rye.RegistryLogRequest
	return &spec{
		name: "log", args: "[namespace]", short: "Show the log of a namespace",
		long:     "Lists each operation with its position. The default is the project's namespace.",
		examples: "rye registry log\nrye registry log acme --name main",
		exits:    sharing,
		flags:    []cli.Flag{registryName(&q.Registry)},
		max:      1, arg: &q.Namespace,
		run: func(t *task) error { return answerRows(t, t.w.Registry().Log, q, "", registryLogRow) },
	}
}

func registryLogRow(e rye.LogEntry) []any {
	row := append([]any{prose(fmt.Sprintf("%4d", e.Seq))}, logRow(e)...)
	switch {
	case e.Voided > 0:
		row = append(row, faint(fmt.Sprintf("no effect, voided by %d", e.Voided)))
	case e.Skipped != "":
		row = append(row, warning("no effect: "+e.Skipped))
	case e.Dropped > 0:
		row = append(row, warning(fmt.Sprintf("its changes were dropped by %d", e.Dropped)))
	}
	return row
}

// answerRegistries runs a verb and prints each registry that it reports.
func answerRegistries[Q any](t *task, run verb[Q, []rye.RegistryInfo], q Q) error {
	list, err := run(t.ctx, t.env.Caller, q)
	if err != nil && len(list) == 0 {
		return err
	}
	if len(list) == 0 {
		t.out.infof("no registries; rye registry add <url>")
	}
	return cmp.Or(each(t.out, list, func(p *printer, info rye.RegistryInfo) { printRegistry(p, &info) }), err)
}

func printRegistry(p *printer, info *rye.RegistryInfo) {
	p.printf("%s  %s\n  id      %s\n", bold(info.Name), info.URL, info.ID)
	for _, url := range info.Mirrors {
		p.printf("  mirror  %s\n", url)
	}
	for _, k := range info.Roots {
		p.printf("  root    %s\n", k)
	}
	if len(info.Scopes) > 0 {
		p.printf("  for     %s\n", listed(info.Scopes))
	}
	for _, ns := range sortedKeys(info.Seen) {
		p.printf("  seen    %s at %d\n", ns, info.Seen[ns])
	}
	for i := range info.Checked {
		p.printCheck(&info.Checked[i])
	}
	for _, w := range info.Warnings {
		p.infof("%s", prose(w))
	}
	if !info.Pinned {
		p.infof("you have not accepted it here: rye trust")
	}
}

func pushCommand() *spec {
	var q rye.PushRequest
	return &spec{
		name: "push", aliases: []string{"publish"}, offers: true, args: "[ref | pattern…]", group: "Share",
		short: "Publish signed items of a namespace",
		long: `One push is one signed entry in the namespace's log. A published version never changes. A
package, .ai/bundles/<namespace>/<name>, is published with all its files as one item,
<namespace>/bundle/<name>. rye checks everything before it sends anything, and --dry-run
gives the same answer. If the namespace has no owner and your key is a root key of the
registry, rye asks whether to grant the namespace to your key.`,
		examples: "rye push tool:acme/hello\nrye push 'tool:acme/*' --dry-run\nrye push --all",
		exits:    sharing,
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Destination: &q.All, Usage: "every item and bundle of the project's namespace"},
			&cli.StringFlag{Name: "registry", Destination: &q.Registry, Usage: "the registry's `name`, if no scope names one"},
			&cli.StringFlag{Name: "to", Destination: &q.To, Usage: "push to this `address` of the registry (default its first)"},
			dryRun(&q.DryRun),
		},
		max: many,
		run: func(t *task) (err error) {
			if q.Targets, err = t.someRefs(q.All); err != nil {
				return err
			}
			q.To = t.remote(q.To)
			collectFrom(amongGarbage)
			return answer(t, t.w.Registry().Push, q, printPush)
		},
	}
}

func printPush(p *printer, rep *rye.PushReport) {
	did := published.mark(rep.DryRun)
	if rep.Granted {
		p.resultf(rep.DryRun, "%s  %s to your key\n", granted.mark(rep.DryRun), rep.Namespace)
	}
	for _, name := range rep.Published {
		p.resultf(rep.DryRun, "%s  %s\n", did, name)
	}
	for _, name := range rep.Unchanged {
		p.resultf(rep.DryRun, "%s  %s\n", faint("unchanged"), name)
	}
	for _, name := range rep.PassedOver {
		why := "a tool of several files is published in a bundle"
		if strings.HasPrefix(name, "bundle:") {
			why = "only bundles below .ai/bundles are published"
		}
		p.resultf(rep.DryRun, "%s  %s: %s\n", faint("skipped"), name, why)
	}
	if rep.Seq > 0 && len(rep.Published) > 0 && !rep.DryRun {
		p.infof("%s: %s is at %d", rep.Registry, rep.Namespace, rep.Seq)
	}
	if rep.Warning != "" {
		p.errorf("warning: %s\nhint: rye fetch", prose(rep.Warning))
	}
}

func fetchCommand() *spec {
	var q rye.CatalogueRequest
	var catalogue bool
	return &spec{
		name: "fetch", args: "[--catalogue [namespace…]]", group: "Share",
		short: "Fetch and verify the registries; change nothing here",
		long: `--catalogue downloads the metadata of every version, so that rye search --registry and rye
info work offline. It covers all namespaces of the registries, or the named ones, and asks
only for changes. Looking at a namespace does not make you trust it.`,
		examples: "rye fetch\nrye fetch --catalogue\nrye fetch --catalogue acme",
		exits:    sharing,
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "catalogue", Aliases: []string{"catalog"}, Destination: &catalogue, Usage: "download the catalogue of the registries, for search"},
			registryOnly(&q.Registry),
		},
		max: many,
		run: func(t *task) error {
			switch {
			case catalogue:
				q.Namespaces = t.args
				return t.fetchCatalogues(q)
			case len(t.args) > 0:
				return fault.New(fault.Usage, "fetch: namespaces need --catalogue").Advise("rye fetch --catalogue %s", strings.Join(quoted(t.args), " "))
			case q.Registry != "":
				return fault.New(fault.Usage, "fetch: --name needs --catalogue; without it rye fetches from all registries").Advise("rye fetch")
			}
			return answerRegistries(t, bare(t.w.Registry().Fetch), none)
		},
	}
}

func pullCommand() *spec {
	var q rye.InstallRequest
	var sources cli.StringSlice
	return &spec{
		name: "pull", offers: true, group: "Share",
		short: "Install the items that the lock pins, and missing files of bundles",
		long: `Bundles that were added with --no-vendor come with their signed manifest alone. rye fetches
their files from the source that the manifest names, and compares each with it. For a new
item, use rye add.`,
		examples: "rye pull\nrye pull --dry-run",
		exits:    append([]fault.Code{fault.Drift}, sharing...),
		flags:    append(accepting(&q), dryRun(&q.DryRun), acceptSource(&sources)),
		max:      many,
		run: func(t *task) error {
			if len(t.args) > 0 {
				return fault.New(fault.Usage, "pull: it takes no items").Advise("rye add %s", strings.Join(quoted(t.args), " "))
			}
			rep, err := t.w.Upkeep().PullOrigins(t.ctx, t.env.Caller, rye.OriginPullRequest{DryRun: q.DryRun, AcceptSource: sources.Value()})
			if rep == nil {
				return err
			}
			perr := t.printUpdates(rep, err)
			return cmp.Or(err, t.install(q), perr)
		},
	}
}

func updateCommand() *spec {
	q := rye.InstallRequest{Update: true}
	var from rye.OriginUpdateRequest
	var sources, archives cli.StringSlice
	return &spec{
		name: "update", args: "[<namespace>/<kind>/<name>…]", group: "Share",
		short: "Update locked items and bundles with an origin to their newest version",
		long: `Items from registries move to the newest version in their range. Bundles that came from a
repository move to the newest commit of their branch: rye shows upstream's change, merges it
into your edits, and signs the result after your yes.

rye asks before it changes anything. Without a terminal --yes agrees, but not to wider needs,
new programs and new signers: for these add --accept-needs and --accept-signer. A tag that
moved, a branch that was rewritten, and another upstream signer stop an update, each with a
flag of its own.

A folder, an archive and a site have no branches: rye reads them anew and compares the content.
An archive by https needs --sha256 with the digest that rye shows.`,
		examples: "rye update --dry-run\nrye update acme/tool/hello --diff\nrye update acme/pdf\nrye update --yes --accept-needs",
		exits:    sharing,
		flags: append(accepting(&q), dryRun(&q.DryRun), acceptUpstreamSigner(&from.AcceptUpstreamSigner), acceptSource(&sources),
			&cli.StringSliceFlag{Name: "sha256", Destination: &archives, Usage: "also accept the archive by https with this `digest`"},
			&cli.BoolFlag{Name: "accept-tag", Destination: &from.AcceptTag, Usage: "also accept a tag that names another commit than before"},
			&cli.BoolFlag{Name: "accept-rewrite", Destination: &from.AcceptRewrite, Usage: "also accept a branch that lost the commit that was added"}),
		max: many,
		run: func(t *task) error {
			from.Names, from.DryRun, from.Diff, from.AcceptNeeds, from.AcceptSource, from.SHA256 = t.args, q.DryRun, q.Diff, q.AcceptNeeds, sources.Value(), archives.Value()
			rep, err := t.w.Upkeep().UpdateOrigins(t.ctx, t.env.Caller, from)
			if rep == nil {
				return err
			}
			perr := t.printUpdates(rep, err)
			t.out.printRenewed(rep.Lock, q.DryRun)
			if q.Names = rep.Others; len(t.args) == 0 || len(q.Names) > 0 {
				err = cmp.Or(err, t.install(q))
			}
			return cmp.Or(err, perr)
		},
	}
}

// acceptSource returns the flag for sources that a manifest names and no person added here.
func acceptSource(into *cli.StringSlice) cli.Flag {
	return &cli.StringSliceFlag{Name: "accept-source", Destination: into, Usage: "also contact the source at this `address`"}
}

// printUpdates prints the outcome for each bundle. A question that nobody could answer, with which the
// command ends, is printed after them in its own lines.
func (t *task) printUpdates(rep *rye.OriginUpdateReport, end error) error {
	return each(t.out, rep.Updates, func(p *printer, u rye.OriginUpdate) {
		commits := prose(commitName(u.Was) + prefixed(" -> ", commitName(u.Now)))
		switch u.State {
		case "updated", "conflict":
			p.resultf(rep.DryRun, "%s  %s  %s\n", updated.mark(rep.DryRun), u.Name, commits)
		case "fetched":
			p.resultf(rep.DryRun, "%s  %s  %s\n", fetched.mark(rep.DryRun), u.Name, prose(words.Plural(len(u.Files), "file")+" at "+commitName(u.Now)))
		case "ok":
			p.infof("%s is up to date", u.Name)
		case "failed":
			if open := (*app.Unasked)(nil); !errors.As(end, &open) || u.Reason != end.Error() {
				p.infof("%s: %s", u.Name, prose(u.Reason))
			}
		default:
			p.infof("%s: %s", u.Name, prose(cmp.Or(u.Reason, u.State)))
		}
		if u.Renamed != "" {
			p.infof("  its folder is now %s", u.Renamed)
		}
		for _, c := range u.Conflicts {
			p.infof("  conflict: %s", c)
		}
		for _, f := range u.Edited {
			p.infof("  your edit stays: %s", f)
		}
		for _, l := range u.Left {
			p.infof("  note: %s", prose(l))
		}
		if rep.DryRun {
			for _, f := range u.Programs {
				p.infof("  new program: %s", f)
			}
			for _, w := range u.Wider {
				p.infof("  now also: %s", w)
			}
			for _, h := range u.Hosts {
				p.infof("  new host in a text: %s", h)
			}
		}
		for _, l := range u.Diff {
			p.resultf(rep.DryRun, "    %s\n", prose(l))
		}
	})
}

// accepting returns the flags for accepting items from registries.
func accepting(q *rye.InstallRequest) []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "diff", Destination: &q.Diff, Usage: "show the changes in each text"},
		&cli.BoolFlag{Name: "accept-needs", Destination: &q.AcceptNeeds, Usage: "with --yes: also accept wider needs and new tools"},
		&cli.BoolFlag{Name: "accept-signer", Destination: &q.AcceptSigner, Usage: "with --yes: also accept new signers"},
	}
}

// install runs add, pull and update for items of registries.
func (t *task) install(q rye.InstallRequest) error {
	return answer(t, t.w.Registry().Install, q, func(p *printer, rep *rye.InstallReport) {
		for _, i := range rep.Installed {
			version := i.Version
			if i.Was != "" {
				version = i.Was + " -> " + i.Version
			}
			p.resultf(rep.DryRun, "%s  %s@%s  %s\n", installed.mark(rep.DryRun), i.Name, version, faint(prose("by "+words.Quote(i.Author)+" from "+words.Quote(i.Registry))))
			p.printMoved(rep, i.Name)
			if i.Was != "" && !rep.DryRun {
				p.infof("see what changed: rye diff %s", i.Name)
			}
		}
		for _, c := range rep.Changes {
			if c.Version == "" {
				p.resultf(rep.DryRun, "%s  %s@%s  %s\n", removed.mark(rep.DryRun), c.Name, c.Was, faint("no longer needed"))
			}
		}
		for _, w := range rep.Warnings {
			p.infof("%s", prose(w))
		}
		received := ""
		if rep.Bytes > 0 { // 0 for a directory on this machine
			received = ", " + size(rep.Bytes) + " received"
		}
		p.infof("%d changed, %d unchanged%s", len(rep.Installed), len(rep.Unchanged), prose(received))
	})
}

func size(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/1024)
}
