package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace"
)

func addCommand() *spec {
	var q rye.AddRequest
	return &spec{
		name: "add", args: "<path…> | <namespace>/<kind>/<name>[@range]… | <git-url>[#<branch or tag>]", group: "Begin",
		short: "Take in files, items of a registry, or those of a repository",
		long: `A file below .ai/ is recorded where it is; another is copied in, as --kind and
--as say. A name like acme/tool/hello is brought from its registry, verified, and
pinned in .ai/rye.lock. Write ./ before a path that looks like a name.

An address takes in every item below .ai of a git repository, as it is: nobody
vouches for it but the items' own signatures, and nothing follows it later.`,
		examples: "rye add .ai/tools/acme/hello.py\nrye add ./scripts/deploy.sh --kind tool --as acme/deploy\nrye add acme/tool/hello@^1.2\nrye add https://git.example.org/ada/tools.git#v2",
		exits: []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Network, fault.Auth, fault.Integrity, fault.Untrusted,
			fault.Revoked, fault.Rollback, fault.Denied, fault.Offline, fault.Malformed, fault.Limit},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "kind", Destination: &q.Kind, Usage: "`kind` of a file that is copied in"},
			&cli.StringFlag{Name: "as", Destination: &q.As, Usage: "`id` to give it"},
			dryRun(&q.DryRun),
			&cli.BoolFlag{Name: "force", Aliases: []string{"f"}, Destination: &q.Force, Usage: "replace what is there; a copy stays in history"},
		},
		min: 1, max: many,
		run: func(t *task) error { return runAdd(t, q) },
	}
}

func runAdd(t *task, q rye.AddRequest) error {
	paths, names, urls, err := sortAdd(t, t.args)
	if err != nil {
		return err
	}
	if q.As != "" && len(t.args) > 1 {
		return fault.New(fault.Usage, "add: --as names one item, and there are %d arguments", len(t.args))
	}
	if len(urls) > 0 && (q.As != "" || q.Kind != "") {
		return fault.New(fault.Usage, "add: the items of a repository keep their ids").Advise("leave out --as and --kind")
	}
	for _, path := range paths {
		q.Path = path
		if err := showAdded(t, q.DryRun, func(w *workspace.Workspace) ([]rye.AddReport, error) { return w.Add(t.ctx, rye.Terminal(), q) }); err != nil {
			return err
		}
	}
	for _, url := range urls {
		from := rye.AddRequest{URL: url, DryRun: q.DryRun, Force: q.Force}
		if err := showAdded(t, q.DryRun, func(w *workspace.Workspace) ([]rye.AddReport, error) { return w.Add(t.ctx, rye.Terminal(), from) }); err != nil {
			return err
		}
	}
	if len(names) == 0 {
		return nil
	}
	return install(t, rye.InstallRequest{Names: names, DryRun: q.DryRun})
}

func showAdded(t *task, dry bool, verb func(*workspace.Workspace) ([]rye.AddReport, error)) error {
	reps, err := call(t, verb)
	if err != nil {
		return err
	}
	for _, rep := range reps {
		if err := t.out.show(rep, func() { printAdd(t.out, dry, added, &rep) }); err != nil {
			return err
		}
	}
	return nil
}

// sortAdd tells files from names of registries and addresses of repositories. What
// parses as a name is one, unless it is spelled as a path.
func sortAdd(t *task, args []string) (paths, names, urls []string, err error) {
	a, err := t.env()
	if err != nil {
		return nil, nil, nil, err
	}
	for _, arg := range args {
		switch {
		case isGitURL(arg):
			dir, name, named := strings.Cut(arg, "#")
			if !strings.Contains(dir, ":") { // of this machine
				if arg = a.Path(dir); named {
					arg += "#" + name
				}
			}
			urls = append(urls, arg)
		case isName(arg):
			names = append(names, arg)
		default:
			path := a.Path(arg)
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

func printAdd(p *printer, dry bool, d deed, rep *rye.AddReport) {
	p.didf(dry, "%s %s (%s)\n", d.word(dry), rep.Ref, string(rep.State))
	if !rep.Next.IsZero() && !dry {
		p.notef("next: %s", rep.Next)
	}
}

func removeCommand() *spec {
	var dry bool
	return &spec{
		name: "remove", aliases: []string{"rm"}, args: "<ref…>", group: "Items",
		short:    "Remove items, or dependencies; history keeps them",
		examples: "rye remove tool:acme/hello\nrye restore tool:acme/hello     # and back",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Denied},
		flags:    []cli.Flag{dryRun(&dry)},
		min:      1, max: many,
		run: func(t *task) error {
			for _, arg := range t.refs() { // all or none: a slip in the last must not cost the first
				if _, err := call(t, func(w *workspace.Workspace) (*rye.AddReport, error) {
					return w.Remove(t.ctx, rye.Terminal(), rye.RemoveRequest{Target: arg, DryRun: true})
				}); err != nil {
					return err
				}
			}
			return eachRef(t, dry, removed, func(w *workspace.Workspace, target rye.Target) (*rye.AddReport, error) {
				return w.Remove(t.ctx, rye.Terminal(), rye.RemoveRequest{Target: target, DryRun: dry})
			})
		},
	}
}

// eachRef runs one verb for each argument and prints what it did.
func eachRef(t *task, dry bool, d deed, verb func(*workspace.Workspace, rye.Target) (*rye.AddReport, error)) error {
	for _, arg := range t.refs() {
		rep, err := call(t, func(w *workspace.Workspace) (*rye.AddReport, error) { return verb(w, arg) })
		if err != nil {
			return err
		}
		if err := t.out.show(rep, func() { printAdd(t.out, dry, d, rep) }); err != nil {
			return err
		}
	}
	return nil
}

// refs returns the arguments as refs: "tool acme/hello", typed as two words, is one.
func (t *task) refs() []rye.Target {
	var out []rye.Target
	for i := 0; i < len(t.args); i++ {
		if _, err := objects.ParseKind(t.args[i]); err == nil && i+1 < len(t.args) {
			out = append(out, rye.Target(t.args[i]+":"+t.args[i+1]))
			i++
			continue
		}
		out = append(out, t.target(t.args[i]))
	}
	return out
}

// target makes a path absolute and leaves refs, names and patterns alone.
func (t *task) target(arg string) rye.Target {
	a, err := t.env()
	if err != nil || isName(arg) || strings.ContainsAny(arg, "*?:") {
		return rye.Target(arg)
	}
	if path := a.Path(arg); strings.ContainsAny(arg, `./\`) {
		if _, err := os.Stat(path); err == nil {
			return rye.Target(path)
		}
	}
	return rye.Target(arg)
}

// oneRef is refs for commands that take one.
func (t *task) oneRef(name string) (rye.Ref, error) {
	refs := t.refs()
	if len(refs) != 1 {
		return rye.Ref{}, fault.New(fault.Usage, "%s: want one ref, got %d", subject(name), len(refs)).Advise("%s <ref>", name)
	}
	return call(t, func(w *workspace.Workspace) (rye.Ref, error) { return w.Ref(string(refs[0])) })
}

func dryRun(into *bool) cli.Flag {
	return &cli.BoolFlag{Name: "dry-run", Aliases: []string{"n"}, Destination: into, Usage: "say what would happen, change nothing"}
}
