package command

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// callClasses are the classes of all operands together; as decides them.
const callClasses names = "any operand personal packedsent barehost private lasting near herefrom replaced mode setid sent keyed lastremote none"

// of reports whether a word is in a class.
func (c *call) of(class string, v value) bool {
	w := v.text
	switch class {
	case "top":
		return top(w)
	case "abstop":
		return path.IsAbs(w) && top(w)
	case "everything":
		return w == "*" || w == "~/*" || w == "./*"
	case "device":
		return device(w)
	case "disk":
		return w == "" || device(w)
	case "outside": // of the project, and not of a temporary directory
		return (path.IsAbs(w) || strings.HasPrefix(w, "~") || strings.HasPrefix(path.Clean(w), "../")) && !strings.HasPrefix(w, "/tmp/") && !strings.HasPrefix(w, "/dev/")
	case "base":
		return trunk.has(strings.TrimPrefix(w, "refs/heads/"))
	case "trunk":
		_, to, both := strings.Cut(w, ":")
		return trunkName(w) || both && trunkName(to)
	case "gone":
		return len(w) > 1 && w[0] == ':' && trunkName(w[1:])
	case "listed":
		return v.is(listed)
	case "star":
		return w == "*"
	case "facts":
		return v.is(facts) && w != ""
	case "scratch":
		return strings.HasPrefix(w, "/tmp") || strings.HasPrefix(w, "/dev/shm") || strings.HasPrefix(w, "/var/tmp")
	case "secretfile":
		return secretPath(w) && strings.Contains(path.Base(w), ".") && path.Base(w)[0] != '.' || keyFile(w)
	case "keyfile":
		return keyFile(w)
	case "stdin":
		return w == "-" || strings.HasSuffix(w, "@-")
	case "fromnet":
		return v.is(fetched)
	case "stranger":
		return stranger(w)
	case "unpinned":
		return unpinned(w)
	case "committed":
		_, ok := c.vars["committed "+w]
		return ok && w != ""
	case "editorrc":
		return w != "" && len(w) < 4096 && editorFiles().MatchString(w)
	case "shadow":
		return w != "" && len(w) < 4096 && shadowing().MatchString(w)
	case "foreign":
		return foreign(w) || strings.HasPrefix(w, "git+") && foreign(w[len("git+"):])
	case "drop":
		host := hostOf(w)
		_, parent, _ := strings.Cut(host, ".")
		return dropHosts.has(host) || dropHosts.has(parent)
	case "hostmount":
		return hostMount(w)
	case "testdb":
		return testData().MatchString(w)
	case "started":
		return w != "" && (strings.HasPrefix(w, "/tmp/") || strings.HasPrefix(w, "/dev/shm/") || strings.HasPrefix(w, "/var/tmp/") || w[0] == '.') || c.files.read(w).is(fetched)
	case "fetched":
		return c.files.read(w).is(fetched) || c.files.broughtForeign(c.files.place(w))
	case "secret":
		return secretPath(w) && w != "/" || strings.HasPrefix(w, "/.ssh") || strings.HasPrefix(w, "/.aws")
	case "document":
		return documents.has(strings.ToLower(path.Ext(w)))
	case "encoded":
		return len(w) >= 40 && strings.Trim(w, letters+"+/=") == ""
	case "empty":
		return w == "" && !v.is(partial)
	case "word":
		return w != ""
	case "autostart":
		return w != "" && len(w) < 4096 && autostart().MatchString(w)
	case "system":
		return w != "" && len(w) < 4096 && system().MatchString(w)
	case "traces":
		return w != "" && len(w) < 4096 && traces().MatchString(w)
	case "gitstore":
		return strings.Contains(w, ".git/") && len(w) < 4096 && gitStore().MatchString(w)
	}
	panic("no class " + class)
}

var testData = lazy(`(?i)(^|[\W_])(tests?|testing|:memory:|dev|development|ci|tmp|temp|scratch|sandbox|demo)([\W_]|$)`)

// as reports whether the words of a call are, together, of a class.
func (c *call) as(class string) bool {
	switch class {
	case "any":
		return true
	case "operand":
		return len(operands(c.args, "")) > 1
	case "personal":
		return slices.ContainsFunc(c.outgoing(), func(v value) bool { return personal().MatchString(v.text) })
	case "packedsent":
		return slices.ContainsFunc(c.outgoing(), func(v value) bool { return c.files.holds(v, packed) })
	case "barehost":
		return slices.ContainsFunc(c.args, func(v value) bool {
			host := hostOf(v.text)
			if _, after, ok := strings.Cut(v.text, "@"); host == "" && ok {
				host, _, _ = strings.Cut(after, ":")
			}
			return bareAddress().MatchString(host) && !private().MatchString(host) || c.of("drop", v)
		})
	case "private":
		return near(c.args)
	case "lasting": // all but the products of a build
		ops := operands(c.args, "")
		return len(ops) == 0 || slices.ContainsFunc(ops, func(v value) bool { return !regrowable(strings.TrimSuffix(v.text, ",")) })
	case "replaced":
		ops := operands(c.args, "")
		return len(ops) > 0 && !regrowable(ops[0].text)
	case "mode":
		return wideMode(c.mode())
	case "setid":
		return setID(c.mode())
	case "herefrom":
		return c.files.broughtForeign(c.files.place("."))
	case "near":
		return local(c.args)
	case "keyed":
		return slices.ContainsFunc(c.args, func(v value) bool { return foreign(v.text) }) && slices.ContainsFunc(c.args, func(v value) bool {
			return v.is(keyed) && !strings.HasPrefix(v.text, "--header=") && !slices.ContainsFunc(valueOf(c.args, "-H --header -u --user --oauth2-bearer"), func(h value) bool { return h == v })
		})
	case "sent":
		return slices.ContainsFunc(c.outgoing(), c.files.carries)
	case "lastremote":
		return len(c.args) > 0 && strings.Contains(c.args[len(c.args)-1].text, ":")
	}
	return len(c.args) == 0
}

// mode returns the mode among the words of chmod, the first that is not an option.
func (c *call) mode() string {
	for _, v := range c.args {
		if w := v.text; w != "" && !(w[0] == '-' && strings.Trim(w, "-RHLPcfv") == "") && !strings.HasPrefix(w, "--") {
			return w
		}
	}
	return ""
}

// wideMode reports whether a mode lets everybody write.
func wideMode(mode string) bool {
	digits := strings.TrimLeft(mode, "0")
	if n := len(digits); digits == "666" || n >= 3 && n <= 4 && strings.Trim(digits, "01234567") == "" && strings.HasSuffix(digits, "777") {
		return true
	}
	return clauses(mode, "ugoa", func(who, what string) bool { return strings.ContainsAny(who, "oa") && strings.Contains(what, "w") })
}

// setID reports whether a mode makes a program run as its owner.
func setID(mode string) bool {
	if n := len(mode); n >= 4 && strings.Trim(mode, "01234567") == "" {
		return mode[n-4] >= '4'
	}
	return clauses(mode, "ugoa", func(who, what string) bool {
		return strings.Contains(what, "s") && (who == "" || strings.ContainsAny(who, "ua"))
	})
}

// clauses reports whether one of the clauses of a mode such as u+x,o=w meets a condition.
func clauses(mode, whos string, meets func(who, what string) bool) bool {
	return slices.ContainsFunc(strings.Split(mode, ","), func(clause string) bool {
		i := strings.IndexAny(clause, "+=")
		return i >= 0 && strings.Trim(clause[:i], whos) == "" && strings.Trim(clause[i+1:], "rwxXst") == "" && meets(clause[:i], clause[i+1:])
	})
}

// unpinned reports whether a word names the newest state of a module on a host where anybody can
// publish, by an author who is none of the usual ones.
func unpinned(w string) bool {
	module, version, ok := strings.Cut(w, "@")
	part := strings.Split(module, "/")
	return ok && names("latest master main HEAD").has(version) && len(part) > 2 &&
		names("github.com gitlab.com bitbucket.org codeberg.org").has(part[0]) && !usualOwners.has(strings.ToLower(part[1]))
}

// stranger reports whether a word is a repository on a host where anybody can publish, in a state that
// its author may change, by an author who is none of the usual ones.
func stranger(w string) bool {
	w = strings.TrimPrefix(w, "git+")
	rest, short := strings.CutPrefix(w, "github:")
	if !short {
		for _, host := range []string{"https://github.com/", "https://gitlab.com/", "https://bitbucket.org/", "https://codeberg.org/", "https://raw.githubusercontent.com/", "ssh://git@github.com/"} {
			var ok bool
			if rest, ok = strings.CutPrefix(w, host); ok {
				break
			}
			rest = ""
		}
	}
	owner, name, ok := strings.Cut(rest, "/")
	return ok && owner != "" && !usualOwners.has(strings.ToLower(owner)) && !pinnedState().MatchString(name)
}

// pinnedState matches a tag or a commit in the address of a repository.
var pinnedState = lazy(`[@#/]v?\d+\.\d|[@#/][0-9a-f]{7,40}\b|[?&](rev|tag)=`)

// trunkName reports whether others build on a branch or tag, or whether its name is not known.
func trunkName(ref string) bool {
	ref = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(ref, "+"), "refs/heads/"), "refs/tags/")
	return ref == "" || trunk.has(ref) || strings.HasPrefix(ref, "release/") || strings.HasPrefix(ref, "release-") || len(ref) > 1 && ref[0] == 'v' && ref[1] >= '0' && ref[1] <= '9'
}

// hostMount reports whether a container gets a directory of the host that rules it: /:/host, or
// type=bind,source=/.
func hostMount(w string) bool {
	from, _, _ := strings.Cut(w, ":")
	for _, f := range strings.Split(w, ",") {
		if k, p, _ := strings.Cut(f, "="); k == "source" || k == "src" {
			from = p
		}
	}
	return strings.HasSuffix(from, "docker.sock") || names("/ /etc /root /boot /proc /sys /dev /var /var/run /home /usr /var/lib/docker").has(path.Clean(from)) && from != ""
}

// A pattern is a regular expression about an input.
type pattern struct {
	name string
	expr string
	bare bool // without the strings of a program in another language
}

var patterns = sync.OnceValue(func() map[string]func(*call) bool {
	out := map[string]func(*call) bool{}
	for _, p := range patternTable {
		expr := lazy(p.expr)
		out[p.name] = func(c *call) bool {
			if p.bare {
				return expr().MatchString(c.bare)
			}
			return expr().MatchString(c.in.text)
		}
	}
	return out
})

// reads reports whether a pattern matches the input.
func (c *call) reads(name string) bool {
	found, known := c.read[name]
	if !known {
		if c.read == nil {
			c.read = map[string]bool{}
		}
		found = patterns()[name](c)
		c.read[name] = found
	}
	return found
}
