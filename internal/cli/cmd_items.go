package cli

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

func addCommand() *spec {
	var q rye.AddRequest
	var from rye.InstallRequest
	var skills, accepted cli.StringSlice
	var list bool
	return &spec{
		name: "add", args: "<file | folder | archive…> | <namespace>/<kind>/<name>[@range]… | <git-url>[#<branch or tag>][//<folder>] | <site> | <lock file>", group: "Begin",
		short: "Add skills, commands, rules, scripts and items to the project",
		long: `A file below .ai/ is recorded in place; any other file is copied in, with the kind of
--kind and the id of --as. A name like acme/tool/hello is fetched from its registry,
verified, and pinned in .ai/rye.lock; acme/bundle/kit installs a whole bundle. acme/hello is
an item of any kind where acme has a registry here; elsewhere it is a repository of GitHub,
and rye asks before it contacts that. Write ./ before a path that looks like a name. With --space or --as, a name is an item that is here
already: rye copies it byte for byte with its signature, with --as under another id and
unsigned. A different item in its place is shown, and recorded before it is replaced.

In a folder, an archive (zip, tar, tar.gz) or a git repository, rye looks for what other
programs made: Agent Skills (SKILL.md), plugins and marketplaces (Agent Plugins, Claude Code,
Codex, Cursor, Gemini), the commands, agents and rules of coding clients, AGENTS.md and
CLAUDE.md, skills of Ryvos, and items below an .ai. If it finds none of these, it looks for
scripts: a folder with one file called main, or with --entry, becomes one bundle.

Each skill becomes a bundle <namespace>/<name> with every file, its bytes and its executable
bits; in a plugin the name is <plugin>-<name>. The commands, agents and rules of a plugin become
one bundle, with the originals. Links inside the source are followed. --list shows the skills,
and --skill chooses some. Everything that is skipped is listed with its reason. What cannot come
in stops nothing else, and the exit status is that of the first. Imported items are unsigned until
you run rye sign. The manifest of a bundle says where it came from; rye outdated and rye update
follow its branch, or read its folder, archive or site anew.

An archive by https comes in with the digest of --sha256. Without it rye shows the digest and
asks; --yes alone is not enough. Before rye follows a redirect to another public host it asks.

The plugins that a marketplace lists in other repositories and archives come in with it, after
your yes to their sources. rye takes the commit and compares the digest that the marketplace
lists. It installs nothing from npm and runs no command of a marketplace.

The address of a site is that of its index of skills (/.well-known/agent-skills/index.json);
the digests there are compared. From a lock file of another tool (skills-lock.json,
apm.lock.yaml, toolhive.lock.yaml) rye takes over each entry at its locked commit, and compares
its hash by the rule of that tool. An entry that differs does not come in (10).`,
		examples: "rye add .ai/tools/acme/hello.py\nrye add ./scripts/deploy.sh --kind tool --as acme/deploy\nrye add ./my-skills --as acme --dry-run\nrye add ./my-skills --list\nrye add ./my-skills --skill pdf\nrye add ./report --entry run.py\nrye add skills.zip\nrye add acme/tool/hello@^1.2\nrye add https://git.example.org/ada/tools.git#v2//skills/pdf\nrye add https://example.org --list\nrye add skills-lock.json --dry-run\nrye add tool:rye/bash/bash --as acme/bash",
		exits: []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Network, fault.Auth, fault.Integrity, fault.Untrusted,
			fault.Revoked, fault.Rollback, fault.Denied, fault.Offline, fault.Malformed, fault.Limit},
		flags: append(accepting(&from),
			&cli.StringFlag{Name: "kind", Destination: &q.Kind, Usage: "`kind` of the copied file"},
			&cli.StringFlag{Name: "as", Destination: &q.As, Usage: "new `id` of the item, or a namespace for many"},
			&cli.StringFlag{Name: "entry", Destination: &q.Entry, Usage: "main `file` of a folder, which is executed"},
			&cli.StringSliceFlag{Name: "skill", Destination: &skills, Usage: "take only the skill or plugin with this `name`; may be repeated"},
			&cli.BoolFlag{Name: "list", Aliases: []string{"l"}, Destination: &list, Usage: "list what is there to choose from, and add nothing"},
			&cli.BoolFlag{Name: "no-vendor", Destination: &q.NoVendor, Usage: "let git keep only the signed manifests of bundles; rye pull fetches their files"},
			acceptUpstreamSigner(&q.AcceptUpstreamSigner),
			&cli.StringFlag{Name: "sha256", Destination: &q.SHA256, Usage: "take an archive by https only with this `digest`"},
			acceptSource(&accepted),
			changedSpace(&q.Space),
			dryRun(&q.DryRun),
			&cli.BoolFlag{Name: "force", Aliases: []string{"f"}, Destination: &q.Force, Usage: "replace an existing item; its history keeps a copy"},
		),
		min: 1, max: many,
		run: func(t *task) error {
			q.Skills, q.AcceptSource = skills.Value(), accepted.Value()
			return t.runAdd(q, from, list)
		},
	}
}

func (t *task) runAdd(q rye.AddRequest, from rye.InstallRequest, list bool) error {
	if refs := t.refs(); len(refs) == 1 && (q.As != "" || q.Space != "") && t.namesItem(string(refs[0])) {
		return t.copyItem(q, string(refs[0]))
	}
	paths, names, urls, err := t.sortAdd(t.args)
	if err != nil {
		return err
	}
	if strings.Contains(q.As, "/") && len(t.args) > 1 {
		return fault.New(fault.Usage, "add: --as names one item, and there are %d arguments", len(t.args))
	}
	if len(urls)+len(names) > 0 && q.Space != "" && q.Space != "project" {
		return fault.New(fault.Usage, "add: imports belong to a project").Advise("rye add in the project, then rye add <ref> --space user")
	}
	if len(names) > 0 && (list || len(q.Skills) > 0) {
		return fault.New(fault.Usage, "add: --list and --skill are for folders, archives and repositories, and %s is a name", words.Brief(names[0]))
	}
	q.DryRun = q.DryRun || list
	var requests []rye.AddRequest
	for _, path := range paths {
		q := q
		q.Path, q.Folder = cutFolder(path)
		q.List = list
		requests = append(requests, q)
	}
	for _, url := range urls {
		requests = append(requests, rye.AddRequest{URL: url, As: q.As, Entry: q.Entry, Skills: q.Skills, DryRun: q.DryRun, Force: q.Force, NoVendor: q.NoVendor, AcceptUpstreamSigner: q.AcceptUpstreamSigner, List: list, AcceptSource: q.AcceptSource, SHA256: q.SHA256})
	}
	for _, q := range requests {
		print := func(p *printer, rep rye.AddReport) { p.printAdded(added, q.DryRun, &rep) }
		if list {
			print = (*printer).printChoice
		}
		if err := answerBatch(t, t.w.Add, q, print); err != nil {
			return err
		}
	}
	if list {
		t.out.infof("next: %s", fault.Advice("rye add %s --skill <name>", words.Quote(t.args[0])))
	}
	if len(names) == 0 {
		return nil
	}
	from.Names, from.DryRun = names, q.DryRun
	return t.install(from)
}

// namesItem reports whether an argument can name an item that is here: by a name without a range, and
// where no file has that name.
func (t *task) namesItem(arg string) bool {
	if strings.Contains(arg, "@") {
		return false
	}
	if isName(arg) {
		return true
	}
	_, short := objects.ParseID(arg)
	_, err := os.Lstat(t.path(arg))
	return short == nil && err != nil
}

// copyItem copies an item that is here to another space, or under another id.
func (t *task) copyItem(q rye.AddRequest, name string) error {
	ref, err := t.w.Ref(t.ctx, t.env.Caller, name)
	if err != nil {
		return err
	}
	to := cmp.Or(q.Space, "project")
	if err := answer(t, t.w.Copy, rye.CopyRequest{Ref: ref, To: to, As: q.As, DryRun: q.DryRun}, printCopy); !fault.Is(err, fault.NotFound) {
		return err
	}
	return fault.New(fault.NotFound, "add %s: not here, so there is nothing to copy", ref).Advise("rye add %s, without --space and --as, gets it from its registry", ref)
}

// sortAdd separates files, names in registries and sources. An argument that parses as a name is
// one, unless it has the form of a path.
func (t *task) sortAdd(args []string) (paths, names, urls []string, err error) {
	for _, arg := range args {
		if isName(arg) || t.inRegistry(arg) {
			names = append(names, arg)
			continue
		}
		src, err := objects.ParseSource(arg)
		if err != nil {
			return nil, nil, nil, err
		}
		switch {
		case src.Kind == objects.SourceGit && !src.Short && src.Local():
			if !strings.HasPrefix(src.Address, "file:") {
				src.Address = t.path(src.Address)
			}
			urls = append(urls, src.String())
		case !src.Local() && !(src.Short && t.isThere(arg)):
			urls = append(urls, arg)
		case src.Kind == objects.SourceLock && t.isThere(arg):
			urls = append(urls, t.path(arg))
		case src.Kind == objects.SourceArchive && src.Path != "" && t.isThere(src.Address):
			paths = append(paths, t.path(src.Address)+"//"+src.Path)
		case !t.isThere(arg):
			return nil, nil, nil, fault.New(fault.NotFound, "add %q: no such file, and not a name like acme/tool/hello", words.Brief(arg))
		default:
			paths = append(paths, t.path(arg))
		}
	}
	return paths, names, urls, nil
}

// cutFolder separates the folder in an archive from the archive's path, which is absolute and clean.
func cutFolder(path string) (file, folder string) {
	file, folder, _ = strings.Cut(path, "//")
	return file, folder
}

// inRegistry reports whether an argument like acme/hello, with or without a range, names an item of
// a registry: where the registry of its namespace is bound here, and no file has that name.
func (t *task) inRegistry(arg string) bool {
	name, _, _ := strings.Cut(arg, "@")
	id, err := objects.ParseID(name)
	if err != nil || strings.Count(name, "/") != 1 || t.isThere(arg) {
		return false
	}
	of, err := t.w.Registry().Of(t.ctx, t.env.Caller, id.Namespace())
	return err == nil && of != ""
}

func (t *task) isThere(arg string) bool {
	_, err := os.Stat(t.path(arg))
	return err == nil
}

// isName reports whether s is acme/tool/hello or tool:acme/hello, with or without @range.
func isName(s string) bool {
	if strings.HasPrefix(s, ".") || filepath.IsAbs(s) {
		return false
	}
	name, _, _ := strings.Cut(s, "@")
	_, err := objects.ParseRef(name)
	return err == nil
}

// printChoice prints one thing that a source offers.
func (p *printer) printChoice(rep rye.AddReport) {
	if rep.Why != "" {
		p.printAdded(added, true, &rep)
		return
	}
	p.printf("%s  %s\n", cmp.Or(rep.Name, rep.Ref), faint(prose(words.Quote(cmp.Or(rep.About, rep.What)))))
}

// printAdded prints the result for one item.
func (p *printer) printAdded(did outcome, dry bool, rep *rye.AddReport) {
	if rep.Why != "" {
		if rep.Code != "" {
			p.infof("not added %s: %s", rep.Path, prose(rep.Why))
		} else {
			p.infof("skipped %s: %s", rep.Path, prose(rep.Why))
		}
		if !rep.Next.IsZero() {
			p.infof("next: %s", rep.Next)
		}
		return
	}
	p.resultf(dry, "%s %s (%s)%s\n", did.word(dry), rep.Ref, string(rep.State), faint(prose(prefixed("  ", words.Quote(rep.What)))))
	for _, ref := range rep.Holds {
		p.infof("  holds %s", ref)
	}
	for _, l := range rep.Lost {
		p.infof("  note: %s", prose(l))
	}
	if n := len(rep.Programs); n > 0 {
		p.infof("  note: it has %s; rye sign %s lists them", words.Plural(n, "program"), rep.Ref)
	}
	if l := rep.Line; l != nil {
		p.infof("  note: it has a signature of RYE OS%s, which does not make it run here", prose(signedBefore(l)))
		p.infof("  note: that signature covers %s, but not id, version and time", prose(l.Covers))
	}
	if !rep.Next.IsZero() && !dry {
		p.infof("next: %s", rep.Next)
	}
}

func removeCommand() *spec {
	var q rye.RemoveRequest
	return &spec{
		name: "remove", aliases: []string{"rm", "uninstall", "delete"}, args: "<ref | pattern…>", group: "Items",
		short: "Remove items or dependencies; their history stays",
		long: `A pattern matches names as in rye sign: * stands for any text, and ? for one character. Quote
it for the shell. Before rye removes more than one item it lists them and asks.

rye names the signed items that depend on a removed one, by executor, deps or extends. It
asks before a signed item of the project loses what it depends on.`,
		examples: "rye remove tool:acme/hello\nrye remove 'acme/*' --dry-run\nrye restore tool:acme/hello     # and back",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Denied},
		flags:    []cli.Flag{changedSpace(&q.Space), dryRun(&q.DryRun)},
		min:      1, max: many,
		run: func(t *task) error {
			q.Targets = t.refs()
			return answerBatch(t, t.w.Remove, q, func(p *printer, rep rye.AddReport) {
				p.printAdded(removed, q.DryRun, &rep)
				for _, u := range rep.UsedBy {
					p.infof("  %s: %s", prose(map[bool]string{true: "breaks", false: "used"}[u.Breaks]), u)
				}
			})
		},
	}
}

func acceptUpstreamSigner(into *bool) cli.Flag {
	return &cli.BoolFlag{Name: "accept-upstream-signer", Destination: into, Usage: "also accept commits that another key signed than at first, or none"}
}

// answerBatch is answerEach for a verb that may return reports together with an error.
func answerBatch[Q, R any](t *task, run verb[Q, []R], q Q, print func(*printer, R)) error {
	all, err := run(t.ctx, t.env.Caller, q)
	return cmp.Or(each(t.out, all, print), err)
}

// changedSpace is the flag --space for commands that change items.
func changedSpace(into *string) cli.Flag {
	return &cli.StringFlag{Name: "space", Destination: into, Usage: "`space` to change: project (default) or user"}
}

func dryRun(into *bool) cli.Flag {
	return &cli.BoolFlag{Name: "dry-run", Aliases: []string{"n"}, Destination: into, Usage: "show the changes, make none"}
}
