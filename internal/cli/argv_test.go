package cli

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/app"
)

func arranged(t *testing.T, args ...string) (invocation, error) {
	t.Helper()
	return arrange(commands(), globalFlags(&app.Flags{}), args)
}

func TestArrange(t *testing.T) {
	for _, c := range []struct {
		name string
		args string // words, separated by |
		want string
	}{
		{"nothing", "", "--"},
		{"flag after the argument", "run|tool:a/b|--dry-run", "run|--dry-run|--|tool:a/b"},
		{"flag before the command", "--dry-run|run|tool:a/b", "run|--dry-run|--|tool:a/b"},
		{"global flags anywhere", "list|--json|-q", "list|--"},
		{"value as the next word", "run|tool:a/b|--params|{}", "run|--params={}|--|tool:a/b"},
		{"value before the command", "--params|{}|run|tool:a/b", "run|--params={}|--|tool:a/b"},
		{"value with equals signs", "run|tool:a/b|-p|q=a=b", "run|--p=q=a=b|--|tool:a/b"},
		{"repeated", "run|-p|a=1|tool:a/b|-p|b=2,3", "run|--p=a=1|--p=b=2,3|--|tool:a/b"},
		{"short with its value", "run|-pa=1|tool:a/b", "run|--p=a=1|--|tool:a/b"},
		{"short with equals", "-C=dir|list", "list|--"},
		{"bundled shorts", "add|-nf|x.py", "add|--n|--f|--|x.py"},
		{"value that looks like a flag", "run|tool:a/b|--params|--json", "run|--params=--json|--|tool:a/b"},
		{"after --", "add|--|--json|-n", "add|--|--json|-n"},
		{"subcommand", "registry|init|--open|url", "registry|init|--open|--|url"},
		{"subcommand after flags", "registry|--open|init|url", "registry|init|--open|--|url"},
		{"name of a subcommand after --", "lock|--|verify", "lock|--|verify"},
		{"version as a flag", "--version|--json", "version|--"},
		{"alias", "run|tool:a/b", "run|--|tool:a/b"},
		{"dash alone is an argument", "trust|pin|-|--namespace|a", "trust|pin|--namespace=a|--|-"},
		{"empty argument", "search|", "search|--|"},
		{"search of every registry", "search|a|--registry", "search|--registry=*|--|a"},
		{"search of every registry, then a flag", "find|a|--registry|--json", "search|--registry=*|--|a"},
		{"search of one registry", "search|a|--registry|main", "search|--registry=main|--|a"},
		{"the value of another command's flag", "push|--registry|--all", "push|--registry=--all|--"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var args []string
			if c.args != "" {
				args = strings.Split(c.args, "|")
			}
			inv, err := arranged(t, args...)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(inv.argv, "|"); got != c.want {
				t.Errorf("arrange(%q) = %q, want %q", c.args, got, c.want)
			}
		})
	}
}

func TestArrangeRefuses(t *testing.T) {
	for _, c := range []struct{ args, hint string }{
		{"sgin", "did you mean rye sign?"},
		{"xyzzy", "rye --help"},
		{"list|--knd|tool", "did you mean rye list --kind tool?"},
		{"list|--params|{}", "rye list --help"},
		{"list|-json", "did you mean rye list --json?"},
		{"list|-Z", "rye list --help"},
		{"run|tool:a/b|--params", "rye help"},
		{"--", ""},
	} {
		inv, err := arranged(t, strings.Split(c.args, "|")...)
		if c.hint == "" {
			if err != nil {
				t.Errorf("arrange(%q): %v", c.args, err)
			}
			continue
		}
		if !fault.Is(err, fault.Usage) || fault.HintOf(err).String() != c.hint {
			t.Errorf("arrange(%q) = %q, %v (hint %q), want a usage error with hint %q", c.args, inv.argv, err, fault.HintOf(err).String(), c.hint)
		}
	}
}

// TestHelpAndJSONAreSeen: both must work although the rest of the line is wrong.
func TestHelpAndJSONAreSeen(t *testing.T) {
	if inv, err := arranged(t, "execute", "-h"); err != nil || !inv.help {
		t.Errorf("execute -h: help %v, %v", inv.help, err)
	}
	if inv, err := arranged(t, "--json", "frobnicate"); err == nil || !inv.json {
		t.Errorf("--json frobnicate: json %v, %v", inv.json, err)
	}
	if inv, _ := arranged(t, "add", "--", "--json"); inv.json {
		t.Error("--json after -- is an argument")
	}
}

// TestFlagArity: whether a flag takes a value is decided before the command is
// known, so one name must mean the same everywhere.
func TestFlagArity(t *testing.T) {
	takes := map[string]bool{}
	var visit func([]*spec, []cli.Flag)
	check := func(flags []cli.Flag) {
		for _, f := range flags {
			for _, n := range f.Names() {
				if n == "n" || n == "p" {
					continue // --dry-run, and the number of entries of log; a parameter, and the patches of log: behind the command each is clear
				}
				if was, ok := takes[n]; ok && was != takesValue(f) {
					t.Errorf("flag --%s takes a value in one command and none in another", n)
				}
				takes[n] = takesValue(f)
			}
		}
	}
	visit = func(list []*spec, global []cli.Flag) {
		check(global)
		for _, s := range list {
			check(s.flags)
			visit(s.subs, nil)
		}
	}
	visit(commands(), globalFlags(&app.Flags{}))
}

// Global flags are set wherever they stand, and the last of one counts, or all of a
// list.
func TestGlobalFlags(t *testing.T) {
	for args, want := range map[string]app.Flags{
		"list":                                    {},
		"list|--json|-q":                          {JSON: true, Quiet: true},
		"-qy|list|-C|dir|--no-color":              {Quiet: true, Yes: true, Dir: "dir", NoColor: true},
		"--json|list|--json=false":                {},
		"list|--json=0|--offline=t":               {Offline: true},
		"-C|a|list|--directory=b":                 {Dir: "b"},
		"-C|a|list|-C=":                           {},
		"--accept-owner|a|fetch|--accept-owner=b": {AcceptOwner: []string{"a", "b"}},
		"run|tool:a/b|--|-q|--json":               {},
		"run|tool:a/b|--params|-q|x":              {},
	} {
		var g app.Flags
		if _, err := arrange(commands(), globalFlags(&g), strings.Split(args, "|")); err != nil || !reflect.DeepEqual(g, want) {
			t.Errorf("arrange(%q): %+v, %v; want %+v", args, g, err, want)
		}
	}
	for _, f := range globalFlags(&app.Flags{}) {
		switch f.(type) {
		case *cli.BoolFlag, *cli.StringFlag, *cli.GenericFlag:
		default:
			t.Errorf("--%s is a %T, which is not set", f.Names()[0], f)
		}
	}
	for args, want := range map[string]string{
		"list|--json=maybe": `invalid boolean value "maybe" for --json`,
		"list|--json=":      `invalid boolean value "" for --json`,
		"-q=x|list":         `invalid boolean value "x" for --quiet`,
	} {
		if _, err := arranged(t, strings.Split(args, "|")...); !fault.Is(err, fault.Usage) || err.Error() != want {
			t.Errorf("arrange(%q): %v, want %q", args, err, want)
		}
	}
}

// Only flags that are given reach the parser. So what a flag is without being given stands
// where it writes to, and isNamed agrees with the parser about names.
func TestFlagsThatAreNotGiven(t *testing.T) {
	visit := func(flags []cli.Flag) {
		for _, f := range flags {
			var byDefault any
			switch f := f.(type) {
			case *cli.BoolFlag:
				byDefault = f.Value || f.Required || f.EnvVars != nil || f.Destination == nil && f.Name != "help"
			case *cli.StringFlag:
				byDefault = f.Value != "" || f.Required || f.EnvVars != nil || f.Destination == nil
			case *cli.IntFlag:
				byDefault = f.Value != 0 || f.Required || f.EnvVars != nil || f.Destination == nil
			case *cli.Int64Flag:
				byDefault = f.Value != 0 || f.Required || f.EnvVars != nil || f.Destination == nil
			case *cli.Uint64Flag:
				byDefault = f.Value != 0 || f.Required || f.EnvVars != nil || f.Destination == nil
			case *cli.Float64Flag:
				byDefault = f.Value != 0 || f.Required || f.EnvVars != nil || f.Destination == nil
			case *cli.DurationFlag:
				byDefault = f.Value != 0 || f.Required || f.EnvVars != nil || f.Destination == nil
			case *cli.StringSliceFlag:
				byDefault = f.Value != nil || f.Required || f.EnvVars != nil || f.Destination == nil
			case *cli.GenericFlag:
				byDefault = f.Destination != nil || f.Required || f.EnvVars != nil // Value is what it writes to
			default:
				t.Errorf("--%s is a %T, of which this test knows nothing", f.Names()[0], f)
			}
			if byDefault == true {
				t.Errorf("--%s is something without being given, or writes nowhere", f.Names()[0])
			}
			for _, name := range f.Names() {
				if !isNamed(f, name) || isNamed(f, name+"x") || isNamed(f, "") {
					t.Errorf("isNamed and Names differ about --%s", name)
				}
			}
		}
	}
	var all func(list []*spec)
	all = func(list []*spec) {
		for _, s := range list {
			visit(s.flags)
			all(s.subs)
		}
	}
	visit(globalFlags(&app.Flags{}))
	all(commands())
}

// FuzzArrange: whatever is typed, no word is lost, invented or reordered among
// the arguments, and nothing panics.
func FuzzArrange(f *testing.F) {
	f.Add("execute\x00tool:a/b\x00-p\x00a=1\x00--\x00-x")
	f.Add("-nf\x00add\x00--params=\x00-C")
	f.Fuzz(func(t *testing.T, joined string) {
		args := strings.Split(joined, "\x00")
		inv, err := arranged(t, args...)
		if err != nil {
			if !fault.Is(err, fault.Usage) {
				t.Fatalf("arrange(%q): %v, want a usage error", args, err)
			}
			return
		}
		i := slices.Index(inv.argv, "--")
		if i < 0 {
			t.Fatalf("arrange(%q) = %q: no --", args, inv.argv)
		}
		rest := args
		for _, a := range inv.argv[i+1:] {
			j := slices.Index(rest, a)
			if j < 0 {
				t.Fatalf("arrange(%q) = %q: argument %q was not typed there", args, inv.argv, a)
			}
			rest = rest[j+1:]
		}
	})
}

func TestNearest(t *testing.T) {
	all := []string{"sign", "status", "search", "registry", "rm"}
	for _, c := range []struct{ name, want string }{
		{"sgin", "sign"}, {"statsu", "status"}, {"serach", "search"}, {"regstry", "registry"}, {"signature", ""}, {"", ""}, {"x", ""},
	} {
		if got := nearest(c.name, all); got != c.want {
			t.Errorf("nearest(%q) = %q, want %q", c.name, got, c.want)
		}
	}
}

// TestTopNames: a command is found by each of its names without making the others.
func TestTopNames(t *testing.T) {
	for _, c := range top() {
		s := c.make()
		if want := strings.Join(append([]string{s.name}, s.aliases...), " "); c.names != want {
			t.Errorf("the table has %q, the command is %q", c.names, want)
		}
		for _, name := range strings.Fields(c.names) {
			if got := commandsFor([]string{name, "x"}); len(got) != 1 || got[0].name != s.name {
				t.Errorf("%s: not found alone", name)
			}
		}
	}
	for _, args := range [][]string{nil, {""}, {"-q"}, {"nothing"}, {"--", "load"}, {"names"}} {
		if got := commandsFor(args); len(got) != len(top()) {
			t.Errorf("%q: %d commands, want all", args, len(got))
		}
	}
}

// TestArrangeForOne: what the first command alone accepts, the whole tree accepts, and
// understands in the same way.
func TestArrangeForOne(t *testing.T) {
	words := []string{"load", "execute", "registry", "init", "version", "--json", "-q", "--to", "user", "--params", "{}", "--version", "-C", "dir",
		"-p", "a=1", "--", "-nf", "--dry-run", "--help", "tool:a/b", "-", ""}
	right := 0
	for _, first := range words[:5] {
		for _, a := range words {
			for _, b := range words {
				for _, c := range words {
					args := []string{first, a, b, c}
					one, err := arrange(commandsFor(args), globalFlags(&app.Flags{}), args)
					if err != nil || one.help {
						continue // Main asks the whole tree
					}
					right++
					all, err := arranged(t, args...)
					if err != nil || !slices.Equal(one.argv, all.argv) || one.json != all.json || all.help || len(one.path) != len(all.path) {
						t.Fatalf("%q: alone %q, among all %q, %v", args, one.argv, all.argv, err)
					}
				}
			}
		}
	}
	if right < 1000 {
		t.Errorf("only %d command lines were right", right)
	}
}
