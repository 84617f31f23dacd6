package command

// variables are the names that a shell gives values to: variables, positional words as "1",
// "@" and "*", and aliases as "alias NAME".
type variables map[string][]value

// lookup gives the values of a variable. HOME is worth knowing for what is deleted
// there, the others because letters are cut out of them.
func (vs variables) lookup(name string) ([]value, bool) {
	if v, ok := vs[name]; ok {
		return v, true
	}
	switch name {
	case "IFS":
		return []value{{text: " \t\n"}}, true
	case "HOME":
		return []value{{text: "~"}}, true
	case "PWD":
		return []value{{text: "."}}, true
	case "TMPDIR":
		return []value{{text: "/tmp"}}, true
	case "PATH":
		return []value{{text: "/usr/bin:/bin"}}, true
	case "SHELL", "BASH":
		return []value{{text: "/bin/bash"}}, true
	}
	return []value{{from: partial}}, false
}

// arguments sets $1 and so on, and returns what they were.
func (vs variables) arguments(args []value) variables {
	saved := variables{"@": vs["@"], "*": vs["*"]}
	vs["@"], vs["*"] = args, args
	for i := range 9 {
		name := string(rune('1' + i))
		saved[name] = vs[name]
		if delete(vs, name); i < len(args) {
			vs[name] = args[i : i+1]
		}
	}
	return saved
}

// restore puts back what arguments returned.
func (vs variables) restore(saved variables) {
	for name, v := range saved {
		if delete(vs, name); v != nil {
			vs[name] = v
		}
	}
}

// alias gives the text of an alias, which no longer holds after that: an alias may begin
// with its own name. One that is its own program is none.
func (vs variables) alias(name string) (value, bool) {
	a, ok := vs["alias "+name]
	if !ok || name == base(a[0].text) {
		return value{}, false
	}
	delete(vs, "alias "+name)
	return a[0], true
}
