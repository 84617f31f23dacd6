package cli

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// A former is a command of an earlier version or of another program, and the command that does
// its work now.
type former struct {
	was, now string // words after rye
	flag     string // only with this flag; "" for always
	to       string // the name of --to now; "" if it stays
	usual    bool   // people know the word from npm or cargo: it runs without a remark
}

// formers lists the former commands. A longer one stands before its beginning.
var formers = []former{
	{was: "info", now: "show --published", usual: true},
	{was: "why", now: "tree --invert", usual: true},
	{was: "copy", now: "add", to: "--space"},
	{was: "cp", now: "add", to: "--space"},
	{was: "load", now: "add", flag: "--to", to: "--space"},
	{was: "unyank", now: "yank --undo"},
	{was: "bundle list", now: "list bundle"},
	{was: "bundle ls", now: "list bundle"},
	{was: "bundle inspect", now: "show"},
	{was: "bundle verify", now: "verify"},
}

// today returns a command line in the words of today. The remark names the former word and its
// successor; it is "" for a line that needs none.
func today(global []cli.Flag, args []string) (line []string, remark string) {
	at := firstWord(global, args)
	for _, f := range formers {
		was := strings.Fields(f.was)
		rest := args[min(at+len(was), len(args)):]
		if len(args) < at+len(was) || !slices.Equal(args[at:at+len(was)], was) || f.flag != "" && !slices.ContainsFunc(rest, f.hasFlag) {
			continue
		}
		line = append(slices.Clone(args[:at]), strings.Fields(f.now)...)
		for _, a := range rest {
			if name, value, valued := strings.Cut(a, "="); f.to != "" && name == "--to" {
				if a = f.to; valued {
					a += "=" + value
				}
			}
			line = append(line, a)
		}
		if f.to != "" && !slices.ContainsFunc(line, func(a string) bool { name, _, _ := strings.Cut(a, "="); return name == f.to || name == "--as" }) {
			line = append(line, f.to) // whose value is missing: without it, rye add installs
		}
		if !f.usual {
			remark = "rye " + f.was + prefixed(" ", f.flag) + " is now rye " + f.now + prefixed(" ", f.to)
		}
		return line, remark
	}
	return args, ""
}

func (f former) hasFlag(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	return name == f.flag
}

// firstWord returns the index of the first argument that is neither a global flag nor the value
// of one.
func firstWord(global []cli.Flag, args []string) int {
	for i := 0; i < len(args); i++ {
		a := args[i]
		if len(a) < 2 || a[0] != '-' || a == "--" {
			return i
		}
		if name := strings.TrimLeft(a, "-"); takesValue(flagNamed(global, name)) {
			i++
		}
	}
	return len(args)
}
