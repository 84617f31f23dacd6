package cli

import (
	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

func initCommand() *spec {
	var q rye.InitRequest
	return &spec{
		name: "init", args: "[dir]", group: "Begin",
		short: "Make a project, or complete one",
		long: `Makes .ai/ with its store and rye.yaml, and a key when this machine has none.
In an .ai/ directory that is already there, no item is changed or removed; what
is signed in the way of RYE OS is reported. A .gitattributes that is
there gets the lines that it lacks. Your own key counts in a project that this made;
in one that was there, or where signed items lay already, rye trust decides. Where the
directory was a project before, whose rye.yaml is gone, you are asked: another id has
nothing of what was recorded and granted. --project takes the old one again.`,
		examples: "rye init\nrye init --namespace acme ./project\nrye init --project 3f0c9a1b8c2d4e5f60718293a4b5c6d7",
		exits:    []fault.Code{fault.Usage, fault.Untrusted, fault.Denied, fault.Malformed},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "project", Destination: &q.Project, Usage: "the `id` that a project here had before its rye.yaml was lost"},
			&cli.StringFlag{Name: "namespace", Destination: &q.Namespace, Usage: "`name` that the project's own items stand under (default local)"},
		},
		max: 1,
		run: func(t *task) error {
			q.Dir = t.path(t.arg(0))
			return answer(t, t.w.Init, q, printInit)
		},
	}
}

func printInit(p *printer, rep *rye.InitReport) {
	p.resultf(false, "project %s in %s\n", rep.Project, rep.Dir)
	for _, f := range rep.Created {
		p.infof("made %s", f)
	}
	for _, f := range rep.Completed {
		p.infof("completed %s", f)
	}
	if rep.NewKey {
		p.infof("made the key %s", rep.Key)
	}
	for _, l := range rep.Legacy {
		p.infof("legacy: %s", prose(l))
	}
	if len(rep.Legacy) > 0 {
		p.infof("re-sign them with: rye sign --all --upgrade")
	}
	if !rep.Next.IsZero() {
		p.infof("nothing counts here yet: %s", rep.Next)
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
			changedSpace(&q.Space),
			&cli.StringFlag{Name: "description", Destination: &q.Description, Usage: "`text` for the item's description"},
		},
		min: 1, max: 2,
		run: func(t *task) (err error) {
			if q.Kind, q.ID, err = kindAndID(t.args); err != nil {
				return err
			}
			return answer(t, t.w.New, q, func(p *printer, rep *rye.NewReport) {
				p.printf("%s\n", rep.Path)
				if !rep.Next.IsZero() {
					p.infof("next: %s", rep.Next)
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
