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
		short: "Create a project, or complete one",
		long: `Creates .ai/ with its store and rye.yaml, and a key if this machine has none. If .ai/
exists, no item in it is changed or removed; rye reports items with a signature of RYE OS
and adds missing lines to .gitattributes. In a new project your own key is trusted. In an
existing project, or where signed items lay already, run rye trust to decide.

If this was a project whose rye.yaml is missing, rye asks whether to give it another id.
Another id starts without history or permissions. --project restores the old id.`,
		examples: "rye init\nrye init --namespace acme ./project\nrye init --project 3f0c9a1b8c2d4e5f60718293a4b5c6d7",
		exits:    []fault.Code{fault.Usage, fault.Untrusted, fault.Denied, fault.Malformed},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "project", Destination: &q.Project, Usage: "the `id` of the project here before its rye.yaml was lost"},
			&cli.StringFlag{Name: "namespace", Destination: &q.Namespace, Usage: "the project's own `namespace` (default local)"},
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
		p.infof("no key is trusted here yet: %s", rep.Next)
	}
}

func newCommand() *spec {
	var q rye.NewRequest
	return &spec{
		name: "new", args: "<kind> <id>", group: "Begin",
		short: "Write a new item from a template",
		long: `Kinds are directive, tool, knowledge and config. The new file is unsigned.
A tool of the language "http" is a request as data, and one of "native" a compiled program.
A tool of the language "runtime" describes how to run another language: one YAML file.`,
		examples: "rye new tool acme/hello\nrye new tool acme/deploy --lang bash\nrye new directive:acme/review\nrye new tool acme/runtimes/awk --lang runtime",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Conflict},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "lang", Destination: &q.Lang, Usage: "`language` of a tool: python (default), python-script, bash, sh, node, typescript, yaml, http, native, runtime"},
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
