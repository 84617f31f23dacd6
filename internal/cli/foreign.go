package cli

import (
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// foreign maps commands of other programs that rye does not have to rye's command lines. A word
// with exactly the meaning of a command is an alias instead; see top.
var foreign = map[string]func(args []string) []string{
	"bundle":  always("help", "bundles"),
	"ci":      always("pull", "--dry-run"),
	"clone":   orElse([]string{"add"}, "help", "add"),
	"create":  create,
	"commit":  orElse([]string{"sign"}, "sign", "--all"),
	"edit":    orElse([]string{"show"}, "list"),
	"freeze":  orElse([]string{"lock"}, "lock"),
	"get":     orElse([]string{"load"}, "list"),
	"grep":    orElse([]string{"search"}, "help", "search"),
	"install": orElse([]string{"add"}, "pull"),
	"lint":    orElse([]string{"sign", "--dry-run"}, "sign", "--all", "--dry-run"),
	"login":   always("help", "registry"),
	"shell":   always("show", "tool:rye/bash/bash"),
	"sync":    orElse([]string{"pull"}, "pull"),
	"undo":    orElse([]string{"restore"}, "log"),
	"upgrade": orElse([]string{"update"}, "update"),
	"whoami":  always("key", "show"),
}

// create is rye new, except for a bundle, which rye sign makes from a directory.
func create(args []string) []string {
	if len(args) > 0 && args[0] == "bundle" {
		return []string{"help", "bundles"}
	}
	return orElse([]string{"new"}, "help", "new")(args)
}

// quoted quotes words for a shell.
func quoted(args []string) (all []string) {
	for _, a := range args {
		all = append(all, fault.CommandOf(a).String())
	}
	return all
}

func always(line ...string) func([]string) []string {
	return func([]string) []string { return line }
}

// orElse appends the arguments to command. Without arguments it returns without.
func orElse(command []string, without ...string) func([]string) []string {
	return func(args []string) []string {
		if len(args) == 0 {
			return without
		}
		return slices.Concat(command, args)
	}
}

// unknownCommand returns the error for name, which is not a command below path. Its hint is
// rye's command line for a foreign command, or the command that name is probably a typo of.
// args are the typed arguments after name.
func unknownCommand(path []*spec, name string, among []*spec, args []string) error {
	err := fault.New(fault.Usage, "unknown command %q", words.Brief(name))
	if line, ok := foreign[name]; ok && len(path) == 0 {
		h := fault.CommandOf(append([]string{"rye"}, line(args)...)...)
		if line(args)[0] == "help" { // help alone is no remedy
			h = fault.Advice("%s", h)
		}
		return err.With(h)
	}
	var all []string
	for _, s := range among {
		if !s.hidden {
			all = append(append(all, s.name), s.aliases...)
		}
	}
	parent := commandName(path)
	if near := nearest(name, all); near != "" {
		near = find(among, near).name
		return err.Advise("did you mean %s?", strings.Join(append([]string{parent, near}, quoted(args)...), " "))
	}
	return err.With(helpFor(parent))
}
