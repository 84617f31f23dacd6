package command

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// scratchName begins the name of every file that mktemp makes.
const scratchName = "/tmp/mktemp.X"

// output returns what a program prints, by its roles: the text where it passes through as it
// is, and the origin of the rest. What a program makes of a text is not computed.
func (c *call) output() value {
	switch {
	case c.is(says):
		return c.said()
	case c.is(makesScratch):
		return value{text: scratchName + strconv.Itoa(c.files.count())}
	case c.name == "tee":
		return c.in
	}
	data, from := c.in, origin(0)
	if c.is(fetches) {
		from |= fetched
	}
	if c.is(printsSecrets) {
		from |= secret
	}
	if c.is(printsClip) {
		from |= document | secret
	}
	if c.is(packs) {
		from |= packed
	}
	if c.is(describes) {
		from |= facts
	}
	if c.is(listsWork) {
		from |= listed
	}
	if c.name == "find" || c.name == "fd" || c.name == "fdfind" {
		name := found(texts(c.args))
		if secretPath(strings.TrimLeft(path.Base(name), "*")) && slices.ContainsFunc(c.args, func(v value) bool { return names("-exec -execdir -x -X").has(v.text) }) {
			from |= secret
		}
		return value{text: name, from: from}
	}
	if c.is(lists) {
		return value{text: "*", from: from}
	}
	if !c.is(namesFiles) {
		for _, v := range operands(c.args, "") {
			if f, ok := c.files.known(v.text); ok && c.name != "tr" && c.name != "rev" {
				data = join(data, f)
			}
		}
		data.from |= c.files.contents(c.args).from
		if len(operands(c.args, "")) > 0 && c.is(passes) && data.text == "" {
			data.from |= partial
		}
	}
	data.from |= from
	known := strings.TrimSpace(data.text) != "" && !data.is(partial)
	switch {
	case c.is(decodes) && known && !data.is(fetched):
		return value{from: data.from | encoded}
	case c.is(decodes):
		return value{from: data.from | unseen}
	case c.is(passes):
		return data
	}
	out := value{from: data.from | partial}
	if c.is(changes) {
		// The strings of a script are the best guess at its output.
		out.text = strings.Join(stringsOf(line(c.args)), " ")
		if c.name == "sed" || c.name == "gsed" {
			out.text = inserted(operands(c.args, ""))
		}
		if out.text != "" && strings.Contains(line(c.args), "$") {
			out.text += " *" // the fields of a line, with unknown content
		}
		if known || c.in == (value{}) && (&call{machine: c.machine, in: value{text: line(c.args)}}).reads("decode") {
			out.from |= built
		}
	}
	return out
}

// inserted returns what a script of sed puts in: with, of s/old/with/.
func inserted(script []value) string {
	if len(script) == 0 || len(script[0].text) < 4 || script[0].text[0] != 's' {
		return ""
	}
	if part := strings.Split(script[0].text[2:], script[0].text[1:2]); len(part) > 1 {
		return part[1]
	}
	return ""
}

// said returns the output of echo and printf. A text that is spelled in numbers is built.
func (c *call) said() value {
	args := c.args
	escaped := c.name == "printf"
	for !escaped && len(args) > 0 && len(args[0].text) > 1 && args[0].text[0] == '-' && strings.Trim(args[0].text[1:], "neE") == "" {
		if strings.Contains(args[0].text, "e") {
			escaped = true
		}
		args = args[1:]
	}
	if c.name == "printf" && len(args) > 0 && args[0].text == "--" {
		args = args[1:]
	}
	v := merged(args)
	if escaped {
		if spelledOut().MatchString(v.text) {
			v.from |= built
		}
		if c.name == "printf" && len(args) > 1 {
			between := places().ReplaceAllString(args[0].text, "")
			switch {
			case strings.TrimSpace(between) == "":
				v.text = clip(strings.Join(texts(args[1:]), between))
			case len(args) == 2:
				v.text = clip(places().ReplaceAllLiteralString(args[0].text, args[1].text))
			default:
				v.text = clip(between + " " + line(args[1:]))
			}
		}
		v.text = escapes(v.text)
	}
	if c.name != "printf" {
		v.text += "\n"
	}
	return v
}

var (
	spelledOut = lazy(`\\(x[0-9a-fA-F]|0?[0-7]{2}|u[0-9a-fA-F])`)
	places     = lazy(`%[-+ 0-9.#]*[a-zA-Z]`)
)

// found returns one possible name in find's output: the start directory joined with the pattern
// of -name.
func found(args []string) string {
	dir, name := ".", ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		dir = args[0]
	}
	for i, w := range args {
		if names("-name -iname -path -wholename").has(w) && i+1 < len(args) && (i == 0 || args[i-1] != "!" && args[i-1] != "-not") {
			name = args[i+1]
		}
	}
	if name == "" {
		return dir
	}
	return path.Join(dir, name)
}
