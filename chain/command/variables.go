package command

// variables are the names with values in a shell: variables, positional words as "1", "@" and
// "*", and aliases as "alias NAME".
type variables map[string][]value

// lookup returns the values of a variable. HOME matters for deletions there; the others matter
// because scripts cut letters out of them.
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
	case "PROFILE": // of PowerShell
		return []value{{text: "~/.profile"}}, true
	case "PATH":
		return []value{{text: "/usr/bin:/bin"}}, true
	case "SHELL", "BASH":
		return []value{{text: "/bin/bash"}}, true
	}
	if keyName().MatchString(name) {
		return []value{{from: partial | keyed}}, false
	}
	return []value{{from: partial}}, false
}

var keyName = lazy(`(?i)(SECRET|TOKEN|CREDENTIAL|API_?KEY|_KEY$)`)

// arguments sets $1 and so on, and returns the previous values.
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

// restore restores the values that arguments returned.
func (vs variables) restore(saved variables) {
	for name, v := range saved {
		if delete(vs, name); v != nil {
			vs[name] = v
		}
	}
}

// alias returns the text of an alias and removes it, because an alias may begin with its own
// name. An alias for the program of the same name is ignored.
func (vs variables) alias(name string) (value, bool) {
	a, ok := vs["alias "+name]
	if !ok || name == base(a[0].text) {
		return value{}, false
	}
	delete(vs, "alias "+name)
	return a[0], true
}
