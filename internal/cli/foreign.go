package cli

import (
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// foreign are words of other programs that are no command here, and the command lines that
// do what they do there. Words that mean just what a command does are its aliases; see top.
var foreign = map[string]func(args []string) []string{
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

// create is rye new for what that makes. A bundle is a directory, which rye sign takes in.
func create(args []string) []string {
	if len(args) > 0 && args[0] == "bundle" {
		return []string{"help", "bundle"}
	}
	return orElse([]string{"new"}, "help", "new")(args)
}

// quoted spells words so that a shell reads them as they are.
func quoted(args []string) (all []string) {
	for _, a := range args {
		all = append(all, fault.CommandOf(a).String())
	}
	return all
}

func always(line ...string) func([]string) []string {
	return func([]string) []string { return line }
}

// orElse puts arguments behind a command; where there are none it is another.
func orElse(command []string, without ...string) func([]string) []string {
	return func(args []string) []string {
		if len(args) == 0 {
			return without
		}
		return slices.Concat(command, args)
	}
}

// unknownCommand says what is done here by what name, which is no command below path, means,
// or which command was probably meant. args are those behind it, as they were typed.
func unknownCommand(path []*spec, name string, among []*spec, args []string) error {
	err := fault.New(fault.Usage, "unknown command %q", words.Brief(name))
	if line, ok := foreign[name]; ok && len(path) == 0 {
		h := fault.CommandOf(append([]string{"rye"}, line(args)...)...)
		if line(args)[0] == "help" { // which mends nothing by itself
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
		return err.Advise("did you mean %s?", strings.Join(append([]string{parent, near}, quoted(args)...), " "))
	}
	return err.With(helpFor(parent))
}
