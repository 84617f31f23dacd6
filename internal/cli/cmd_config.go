package cli

import (
	"cmp"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/app"
	"github.com/rye-os/rye/internal/words"
)

func configCommand() *spec {
	return &spec{
		name: "config", args: "[setting [value]]", group: "Serve and maintain",
		short: "Show settings and their sources, or change one",
		long: `A setting comes from an environment variable, from the project's rye.yaml, from
configuration items, or is the default. Policy has its own files (rye help capabilities),
and trust its own command (rye help trust). For a setting that this command cannot change,
rye prints the command that can.

You can set author.name and author.email, which your commits in registries show to every
reader (a forge shows a signature as verified only for an email address that it knows).
http.plain lists the hosts that rye may contact without encryption. An empty value removes
a setting.`,
		examples: "rye config\nrye config namespace\nrye config namespace acme\nrye config author.email ada@example.org",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Denied, fault.Malformed},
		max:      2,
		run: func(t *task) error {
			all, err := t.settings()
			if err != nil {
				return err
			}
			switch len(t.args) {
			case 0:
				return rows(t.out, all, func(s rye.Setting) []any { return []any{bold(s.Name), s.Value, faint(prose(s.Origin))} })
			case 1:
				return t.printSetting(all, t.args[0])
			}
			return t.set(all, t.args[0], t.args[1])
		},
	}
}

// settings returns the settings of the environment, the project and the configuration of
// threads.
func (t *task) settings() ([]rye.Setting, error) {
	all := app.Settings(t.env)
	project, err := t.w.Upkeep().Settings(t.ctx, t.env.Caller)
	if err != nil {
		return nil, err
	}
	all = append(all, project...)
	agent, err := t.w.Record().Config(t.ctx, t.env.Caller, "rye/agent")
	if err != nil {
		return all, nil // rye show config:rye/agent --resolved reports the error
	}
	var from []string
	for _, s := range agent.Sources {
		from = append(from, s.Ref+" ("+s.Space+")")
	}
	for _, name := range []string{"provider", "tier"} {
		value, _ := agent.Value[name].(string)
		all = append(all, rye.Setting{Name: "agent." + name, Value: value, Origin: strings.Join(from, " over "),
			Change: fault.Advice("rye add config:rye/agent --space project, edit it, rye trust override config:rye/agent, rye sign config:rye/agent")})
	}
	return all, nil
}

func settingNamed(all []rye.Setting, name string) (rye.Setting, error) {
	var names []string
	for _, s := range all {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	err := fault.New(fault.NotFound, "config: no setting %q", words.Brief(name))
	if near := nearest(name, names); near != "" {
		return rye.Setting{}, err.Advise("rye config %s", near)
	}
	return rye.Setting{}, err.Advise("rye config")
}

func (t *task) printSetting(all []rye.Setting, name string) error {
	s, err := settingNamed(all, name)
	if err != nil {
		return err
	}
	return t.out.show(s, func() {
		t.out.printf("%s\n", s.Value)
		t.out.infof("from %s", prose(s.Origin))
	})
}

// set changes a setting. If rye cannot change it, the error has advice for the user.
func (t *task) set(all []rye.Setting, name, value string) error {
	s, err := settingNamed(all, name)
	if name == "namespace" || strings.HasPrefix(name, "author.") || name == "http.plain" {
		done, err := t.w.Upkeep().Set(t.ctx, t.env.Caller, rye.SetRequest{Name: name, Value: value})
		if err != nil {
			return err
		}
		return t.out.show(done, func() { t.out.resultf(false, "%s is %s, in %s\n", done.Name, done.Value, prose(done.Origin)) })
	}
	if err != nil {
		return err
	}
	change := s.Change.String()
	if variable, _, ok := strings.Cut(change, "="); ok && strings.HasPrefix(change, "export ") {
		change = variable + "=" + fault.CommandOf(value).String()
	}
	return fault.New(fault.Usage, "config: this command cannot set %s", name).Advise("%s", cmp.Or(change, "rye config"))
}
