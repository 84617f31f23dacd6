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
	return &spec{
		name: "add", args: "<file | folder | archive…> | <namespace>/<kind>/<name>[@range]… | <git-url>[#<branch or tag>]", group: "Begin",
		short: "Add skills, commands, rules, scripts and items to the project",
		long: `A file below .ai/ is recorded in place; any other file is copied in, with the kind of
--kind and the id of --as. A name like acme/tool/hello is fetched from its registry,
verified, and pinned in .ai/rye.lock; acme/bundle/kit installs a whole bundle. Write ./
before a path that looks like a name. With --space or --as, a name is an item that is here
already: rye copies it byte for byte with its signature, with --as under another id and
unsigned. A different item in its place is shown, and recorded before it is replaced.

In a folder, an archive (zip, tar, tar.gz) or a git repository, rye looks for the formats
that it knows: Agent Skills (SKILL.md), the commands and agents of Claude Code and its
plugins, Cursor's rules, skills of Ryvos, and items below an .ai. If it finds none of
these, it looks for scripts: a folder with one file called main, or with --entry, becomes
one bundle. Skills keep every byte. Other files are skipped and listed; --dry-run shows
ids, kinds and losses. Imported items are unsigned until you run rye sign. Only the items'
own signatures protect what you import. Imported items are not updated automatically.`,
		examples: "rye add .ai/tools/acme/hello.py\nrye add ./scripts/deploy.sh --kind tool --as acme/deploy\nrye add ./my-skills --as acme --dry-run\nrye add ./report --entry run.py\nrye add skills.zip\nrye add acme/tool/hello@^1.2\nrye add https://git.example.org/ada/tools.git#v2\nrye add tool:rye/bash/bash --as acme/bash",
		exits: []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Network, fault.Auth, fault.Integrity, fault.Untrusted,
			fault.Revoked, fault.Rollback, fault.Denied, fault.Offline, fault.Malformed, fault.Limit},
		flags: append(accepting(&from),
			&cli.StringFlag{Name: "kind", Destination: &q.Kind, Usage: "`kind` of the copied file"},
			&cli.StringFlag{Name: "as", Destination: &q.As, Usage: "new `id` of the item, or a namespace for many"},
			&cli.StringFlag{Name: "entry", Destination: &q.Entry, Usage: "main `file` of a folder, which is executed"},
			changedSpace(&q.Space),
			dryRun(&q.DryRun),
			&cli.BoolFlag{Name: "force", Aliases: []string{"f"}, Destination: &q.Force, Usage: "replace an existing item; its history keeps a copy"},
		),
		min: 1, max: many,
		run: func(t *task) error { return t.runAdd(q, from) },
	}
}

func (t *task) runAdd(q rye.AddRequest, from rye.InstallRequest) error {
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
	var requests []rye.AddRequest
	for _, path := range paths {
		q.Path = path
		requests = append(requests, q)
	}
	for _, url := range urls {
		requests = append(requests, rye.AddRequest{URL: url, As: q.As, Entry: q.Entry, DryRun: q.DryRun, Force: q.Force})
	}
	for _, q := range requests {
		if err := answerEach(t, t.w.Add, q, func(p *printer, rep rye.AddReport) { p.printAdded(added, q.DryRun, &rep) }); err != nil {
			return err
		}
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

// sortAdd separates files, names in registries and addresses of repositories. An
// argument that parses as a name is one, unless it has the form of a path.
func (t *task) sortAdd(args []string) (paths, names, urls []string, err error) {
	for _, arg := range args {
		switch {
		case isGitURL(arg):
			dir, name, named := strings.Cut(arg, "#")
			if !strings.Contains(dir, ":") { // a directory on this machine
				if arg = t.path(dir); named {
					arg += "#" + name
				}
			}
			urls = append(urls, arg)
		case isName(arg):
			names = append(names, arg)
		default:
			path := t.path(arg)
			if _, err := os.Stat(path); err != nil {
				return nil, nil, nil, fault.New(fault.NotFound, "add %q: no such file, and not a name like acme/tool/hello", words.Brief(arg))
			}
			paths = append(paths, path)
		}
	}
	return paths, names, urls, nil
}

func isGitURL(s string) bool {
	s, _, _ = strings.Cut(s, "#")
	return strings.Contains(s, "://") || strings.HasPrefix(s, "git@") || strings.HasSuffix(s, ".git")
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

// printAdded prints the result for one item.
func (p *printer) printAdded(did outcome, dry bool, rep *rye.AddReport) {
	if rep.Why != "" {
		p.infof("skipped %s: %s", rep.Path, prose(rep.Why))
		return
	}
	p.resultf(dry, "%s %s (%s)%s\n", did.word(dry), rep.Ref, string(rep.State), faint(prose(prefixed("  ", words.Quote(rep.What)))))
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
it for the shell. Before rye removes more than one item it lists them and asks.`,
		examples: "rye remove tool:acme/hello\nrye remove 'acme/*' --dry-run\nrye restore tool:acme/hello     # and back",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Denied},
		flags:    []cli.Flag{changedSpace(&q.Space), dryRun(&q.DryRun)},
		min:      1, max: many,
		run: func(t *task) error {
			q.Targets = t.refs()
			return answerBatch(t, t.w.Remove, q, func(p *printer, rep rye.AddReport) { p.printAdded(removed, q.DryRun, &rep) })
		},
	}
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
