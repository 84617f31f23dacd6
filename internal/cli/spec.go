package cli

import (
	"errors"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/app"
)

// spec is one command: its help, its arguments and flags, and its function. The parser,
// completion, help and, through Tree, the manual come from it.
type spec struct {
	name     string
	aliases  []string
	args     string // as in the synopsis: "<ref>"
	group    string // heading in the overview; "" for subcommands
	short    string // one line, no period
	long     string // paragraphs; may be ""
	examples string // one command per line, with # comments
	exits    []fault.Code
	flags    []cli.Flag
	min, max int                      // number of arguments; max < 0 for any number
	ref      *rye.Ref                 // receives the arguments as one ref, if there are any
	arg      *string                  // receives the first argument, if there is one
	passed   *[]string                // receives what stands behind -- after an argument; nil treats it like the rest
	hidden   bool                     // for programs, not in help
	alone    bool                     // runs without environment and workspace
	engine   bool                     // runs in rye-engine; the front passes it on
	slow     bool                     // reads or writes every item without a question, so it shows that it works
	heavy    func(args []string) bool // reports whether these arguments need rye-engine; nil for never
	rights   func() bool              // reports whether it gives rights, which an agent cannot do; nil for never
	offers   bool                     // prints nothing before a refusal, so rye can offer rye trust and run it again
	run      func(*task) error
	subs     []*spec
}

// any number of arguments.
const many = -1

// The headings of the overview, in order.
var groups = [...]string{
	"Begin", "Items", "Look", "Run", "Share", "Trust", "Serve and maintain",
}

// maker makes a command. names are its name and its aliases.
type maker struct {
	names string
	make  func() *spec
}

// top returns the makers of all commands, in the order of the overview.
func top() []maker {
	return []maker{
		{"init", initCommand}, {"new", newCommand}, {"add", addCommand},
		{"remove rm uninstall delete", removeCommand}, {"restore", restoreCommand}, {"mv move rename", moveCommand},
		{"sign", signCommand}, {"review", reviewCommand}, {"resolve", resolveCommand}, {"export", exportCommand},
		{"verify validate", verifyCommand}, {"status", statusCommand}, {"diff", diffCommand}, {"list ls", listCommand}, {"show view", showCommand},
		{"log history", logCommand}, {"blame", blameCommand}, {"load cat", loadCommand}, {"search find", searchCommand},
		{"run execute exec", runCommand}, {"thread", threadCommand}, {"ask", askCommand}, {"approve", approveCommand}, {"deny", denyCommand}, {"lock", lockCommand},
		{"registry", registryCommand}, {"push publish", pushCommand}, {"fetch", fetchCommand}, {"pull", pullCommand}, {"update", updateCommand}, {"outdated", outdatedCommand}, {"tree", treeCommand}, {"audit", auditCommand},
		{"deprecate", deprecateCommand}, {"yank", yankCommand}, {"revoke", revokeCommand},
		{"key", keyCommand}, {"trust", trustCommand}, {"policy", policyCommand},
		{"mcp", mcpCommand}, {"doctor", doctorCommand}, {"fsck", fsckCommand}, {"gc", gcCommand}, {"where", whereCommand}, {"config", configCommand}, {"self", selfCommand},
		{"completion", completionCommand}, {"merge-driver", mergeDriverCommand}, {"version", versionCommand}, {"help", helpCommand}, {"__complete", completeCommand},
	}
}

// commands returns the whole tree. Each call builds a new one, because flags write into
// the request of their command.
func commands() []*spec {
	var all []*spec
	for _, c := range top() {
		all = append(all, c.make())
	}
	return all
}

// commandsFor returns the part of the tree that a correct command line needs: its first
// command, or all of them. Making all takes a tenth of a start.
func commandsFor(args []string) []*spec {
	if len(args) > 0 {
		for _, c := range top() {
			for name := range strings.FieldsSeq(c.names) {
				if name == args[0] {
					return []*spec{c.make()}
				}
			}
		}
	}
	return commands()
}

// find returns the command with a name or an alias.
func find(list []*spec, name string) *spec {
	for _, s := range list {
		if s.name == name || has(s.aliases, name) {
			return s
		}
	}
	return nil
}

// command turns s into urfave/cli's form. path ends with s.
func (s *spec) command(t *task, path []*spec) *cli.Command {
	full := commandName(path)
	return &cli.Command{
		Name:     s.name,
		Aliases:  s.aliases,
		HideHelp: true,
		OnUsageError: func(_ *cli.Context, err error, _ bool) error {
			// The standard library's flag package names flags with one dash.
			text := strings.Replace(err.Error(), " flag -", " flag --", 1)
			return fault.New(fault.Usage, "%s: %s", subject(full), text).With(helpFor(full))
		},
		Action: func(c *cli.Context) error {
			t.name, t.args = full, c.Args().Slice()
			if err := s.checkArgs(path, t.args); err != nil {
				return err
			}
			return s.start(t, answers(c))
		},
	}
}

// answers returns the flags of a command line that answer for a person: --accept and all that begin
// with it.
func answers(c *cli.Context) (all []string) {
	for _, name := range c.LocalFlagNames() {
		if name == "accept" || strings.HasPrefix(name, "accept-") {
			all = append(all, "--"+name)
		}
	}
	return all
}

// onlyPersons refuses what gives rights without a question where the environment is an agent's: a
// command that does, and flags that answer for a person.
func (s *spec) onlyPersons(t *task, accepts []string) error {
	if len(t.flags.AcceptOwner) > 0 {
		accepts = append(accepts, rye.AcceptOwner)
	}
	switch {
	case len(accepts) > 0:
		return t.env.GivesRights(subject(t.name) + " " + strings.Join(accepts, " "))
	case s.rights != nil && s.rights():
		return t.env.GivesRights(subject(t.name))
	}
	return nil
}

// start prepares a command and runs it.
func (s *spec) start(t *task, accepts []string) (err error) {
	front := t.parts.Threads == nil
	if front && (s.engine || s.heavy != nil && s.heavy(t.args) && !app.InCall()) {
		t.exit, err = app.HandoffCommand(t.screen, t.argv)
		return err
	}
	if !s.alone {
		if err := t.open(); err != nil {
			return err
		}
		if err := s.onlyPersons(t, accepts); err != nil {
			return err
		}
	}
	if s.engine {
		if t.threads, err = t.parts.Threads(t.env); err != nil {
			return err
		}
	}
	if s.arg != nil {
		*s.arg = t.arg(0)
	}
	if s.ref != nil && len(t.args) > 0 {
		if *s.ref, err = t.oneRef(); err != nil {
			return err
		}
	}
	if s.slow && !t.flags.Quiet && !t.flags.JSON {
		defer t.screen.Working(subject(t.name))()
	}
	err = s.run(t)
	if s.offers && t.offered(err) {
		err = s.run(t)
	}
	if fault.Is(err, fault.Usage) && fault.HintOf(err).IsZero() {
		err = fault.New(fault.Usage, "%w", err).With(helpFor(t.name))
	}
	if front && errors.Is(err, rye.WordlessError{}) { // the command has not done anything yet
		t.exit, err = app.HandoffCommand(t.screen, t.argv)
	}
	return err
}

// offered shows a person at the terminal the trust statement of this directory, when a command
// was refused for lack of trust. It reports whether the person agreed. --yes is for the command
// and does not answer this.
func (t *task) offered(refused error) bool {
	asks := fault.HintOf(refused).String() == "rye trust" && (fault.Is(refused, fault.Untrusted) || fault.Is(refused, fault.Denied))
	if !asks || t.flags.Yes || t.flags.JSON || !t.env.Attended() {
		return false
	}
	t.out.infof("rye: %s", refused)
	rep, err := t.w.Trust().Statement(t.ctx, t.env.Caller, rye.TrustRequest{})
	return err == nil && rep.Granted > 0
}

// repeated is a flag that may be repeated; each value is appended to into.
func repeated(name string, into *[]string, usage string) cli.Flag {
	return &cli.GenericFlag{Name: name, Value: (*stringList)(into), Usage: usage}
}

type stringList []string

func (l *stringList) Set(v string) error { *l = append(*l, v); return nil }
func (l *stringList) String() string     { return strings.Join(*l, " ") }

// helpFor returns the hint to read the help of a command.
func helpFor(full string) fault.Hint {
	return fault.Advice("%s --help", full)
}

func (s *spec) checkArgs(path []*spec, args []string) error {
	full := commandName(path)
	switch {
	case s.run == nil && len(args) == 0:
		return fault.New(fault.Usage, "%s: missing subcommand, one of: %s", subject(full), names(s.subs)).With(helpFor(full))
	case s.run == nil:
		return unknownCommand(path, args[0], s.subs, args[1:])
	case len(args) < s.min:
		return fault.New(fault.Usage, "%s: %s", subject(full), missing(s.min-len(args), s.args)).With(helpFor(full))
	case s.max >= 0 && len(args) > s.max:
		return fault.New(fault.Usage, "%s: unexpected argument %q", subject(full), args[s.max]).With(helpFor(full))
	}
	return nil
}

func missing(n int, synopsis string) string {
	if n == 1 {
		return "an argument is missing: " + synopsis
	}
	return "arguments are missing: " + synopsis
}

func names(list []*spec) string {
	var out []string
	for _, s := range list {
		if !s.hidden {
			out = append(out, s.name)
		}
	}
	return strings.Join(out, ", ")
}

// subject returns a command's name for a message, without "rye", with which messages begin.
func subject(full string) string { return strings.TrimPrefix(full, "rye ") }

// commandName returns "rye key new" for its path.
func commandName(path []*spec) string {
	name := "rye"
	for _, s := range path {
		name += " " + s.name
	}
	return name
}
