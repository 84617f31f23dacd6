package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/app"
)

// Manual is the documentation of the command line, as plain data. Help prints it;
// internal/tools writes manual pages and docs/cli from it.
type Manual struct {
	Groups   []string // the headings for commands, in order
	Commands []Command
	Flags    []Flag // of every command
	Exits    []Exit // every status
}

// Command describes one command.
type Command struct {
	Name     string // as typed: "rye key new"
	Aliases  []string
	Group    string // its heading; "" below another command
	Short    string // one line, no period
	Long     string // paragraphs; may be ""
	Examples string // one command per line; may be ""
	Usage    string // the synopsis: "rye key new [flags] <name>"
	Flags    []Flag // its own
	Exits    []Exit // the statuses that matter for it
	Subs     []Command
}

// ExitLine lists the command's statuses: "0 ok, 2 usage".
func (c Command) ExitLine() string {
	var parts []string
	for _, e := range c.Exits {
		parts = append(parts, fmt.Sprintf("%d %s", e.Status, e.Code))
	}
	return strings.Join(parts, ", ")
}

// Flag describes one flag.
type Flag struct {
	Names string // as typed, with the name of the value: "-o, --out file"
	Usage string
}

// Exit is one exit status.
type Exit struct {
	Code   string `json:"code"` // its name
	Status int    `json:"exit"`
	When   string `json:"text"`
}

// Tree returns the whole command line, without commands for programs.
func Tree() Manual {
	return Manual{Groups: slices.Clone(groups[:]), Commands: describeAll(nil, commands()), Flags: describeFlags(globalFlags(&app.Flags{})), Exits: exitMeanings()}
}

func describeAll(path, list []*spec) []Command {
	var all []Command
	for _, s := range list {
		if !s.hidden {
			all = append(all, describe(append(path[:len(path):len(path)], s)))
		}
	}
	return all
}

// describe returns the documentation of the command at the end of path.
func describe(path []*spec) Command {
	s := path[len(path)-1]
	full := commandName(path)
	c := Command{
		Name: full, Aliases: s.aliases, Group: s.group, Short: s.short, Long: s.long, Examples: s.examples,
		Usage: synopsis(full, s), Flags: describeFlags(s.flags), Subs: describeAll(path, s.subs),
	}
	for _, e := range exitMeanings() {
		if e.Status == 0 || slices.Contains(s.exits, fault.Code(e.Code)) || len(s.exits) == 0 && e.Code == string(fault.Usage) {
			c.Exits = append(c.Exits, e)
		}
	}
	return c
}

func describeFlags(flags []cli.Flag) []Flag {
	var all []Flag
	for _, f := range flags {
		names, usage := flagHelp(f)
		all = append(all, Flag{names, usage})
	}
	return all
}

// exitMeanings returns the meaning of each exit status, for people.
func exitMeanings() []Exit {
	all := []Exit{{"ok", 0, "success"}}
	for _, m := range []struct {
		code fault.Code
		when string
	}{
		{fault.Failed, "the tool ran and failed, or an unexpected error"},
		{fault.Usage, "wrong arguments, or a malformed ref"},
		{fault.NotFound, "no such item, registry, key or program"},
		{fault.Conflict, "conflicting versions or names"},
		{fault.Network, "the network or the other side failed"},
		{fault.Auth, "the other side refused our identity"},
		{fault.Integrity, "bytes differ from the signed or pinned ones"},
		{fault.Untrusted, "unsigned, by an unknown signer, or the signer changed"},
		{fault.Revoked, "the key or the content was revoked"},
		{fault.Rollback, "older than a version seen before, or replayed"},
		{fault.Stale, "the registry's data is too old to rely on"},
		{fault.Fork, "two histories under one name"},
		{fault.Denied, "refused by policy or capability, or without consent"},
		{fault.Offline, "not available without the network"},
		{fault.Drift, "the lock does not match the present items"},
		{fault.Malformed, "content breaks its format"},
		{fault.Limit, "a limit on size, time, depth or money was reached"},
		{fault.Interrupt, "interrupted"},
	} {
		all = append(all, Exit{string(m.code), m.code.Exit(), m.when})
	}
	return all
}
