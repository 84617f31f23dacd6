package cli

import (
	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace"
)

func initCommand() *spec {
	var q rye.InitRequest
	return &spec{
		name: "init", args: "[dir]", group: "Begin",
		short: "Make a project, or complete one",
		long: `Makes .ai/ with its store and rye.yaml, and a key when this machine has none.
In an .ai/ directory that is already there, no item is changed or removed; what
is signed in the ancestor's way is reported. A project of an earlier rye gets what
it lacks: lines of .gitattributes, the settings of its store.`,
		examples: "rye init\nrye init --namespace acme ./project",
		exits:    []fault.Code{fault.Usage, fault.Untrusted, fault.Denied, fault.Malformed},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "namespace", Destination: &q.Namespace, Usage: "`name` that the project's own items stand under (default local)"},
		},
		max: 1,
		run: func(t *task) error {
			a, err := t.env()
			if err != nil {
				return err
			}
			q.Dir = a.Dir
			if len(t.args) == 1 {
				q.Dir = a.Path(t.args[0])
			}
			rep, err := call(t, func(w *workspace.Workspace) (*rye.InitReport, error) { return w.Init(t.ctx, rye.Terminal(), q) })
			if err != nil {
				return err
			}
			return t.out.show(rep, func() { printInit(t.out, rep) })
		},
	}
}

func printInit(p *printer, rep *rye.InitReport) {
	p.didf(false, "project %s in %s\n", rep.Project, rep.Dir)
	for _, f := range rep.Created {
		p.notef("made %s", f)
	}
	for _, f := range rep.Completed {
		p.notef("completed %s", f)
	}
	if rep.NewKey {
		p.notef("made the key %s", rep.Key)
	}
	if rep.Adopted > 0 {
		p.notef("recorded %s", words.Plural(rep.Adopted, "item"))
	}
	for _, l := range rep.Legacy {
		p.notef("legacy: %s", l)
	}
	if len(rep.Legacy) > 0 {
		p.notef("re-sign them with: rye sign --all --upgrade")
	}
}

func newCommand() *spec {
	var q rye.NewRequest
	return &spec{
		name: "new", args: "<kind> <id>", group: "Begin",
		short: "Write a new item to start from",
		long: `Kinds are directive, tool, knowledge and config. The file is written, not signed.
A tool of the language "runtime" says how to run another language: one YAML file.`,
		examples: "rye new tool acme/hello\nrye new tool acme/deploy --lang bash\nrye new directive:acme/review\nrye new tool acme/runtimes/awk --lang runtime",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Conflict},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "lang", Destination: &q.Lang, Usage: "`language` of a tool: python (default), python-script, bash, sh, node, typescript, yaml, runtime"},
			&cli.StringFlag{Name: "description", Destination: &q.Description, Usage: "`text` for the item's description"},
		},
		min: 1, max: 2,
		run: func(t *task) error {
			var err error
			if q.Kind, q.ID, err = kindAndID(t.args); err != nil {
				return err
			}
			rep, err := call(t, func(w *workspace.Workspace) (*rye.NewReport, error) { return w.New(t.ctx, rye.Terminal(), q) })
			if err != nil {
				return err
			}
			return t.out.show(rep, func() {
				t.out.printf("%s\n", rep.Path)
				if !rep.Next.IsZero() {
					t.out.notef("next: %s", rep.Next)
				}
			})
		},
	}
}

// kindAndID accepts "tool acme/hello" and "tool:acme/hello".
func kindAndID(args []string) (kind, id string, err error) {
	if len(args) == 2 {
		return args[0], args[1], nil
	}
	ref, err := objects.ParseRef(args[0])
	if err != nil {
		return "", "", err
	}
	return string(ref.Kind), string(ref.ID), nil
}
