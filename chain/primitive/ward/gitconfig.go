package ward

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A setting is one line of a git config.
type setting struct {
	section, sub, key, value string // section and key in lower case
}

// parseConfig reads the plain half of git's format: sections, and key = value on one line. ok is
// false for any other form (continued lines, partly quoted values, keys without a value). git
// does not write such a form into a new repository.
func parseConfig(text string) (out []setting, ok bool) {
	if len(text) > maxGitFile || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == 0xfffd }) {
		return nil, false
	}
	var section, sub string
	for line := range strings.Lines(text) {
		line = strings.Trim(line, " \t\n")
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if line[0] == '[' {
			m := heading().FindStringSubmatch(line)
			if m == nil {
				return nil, false
			}
			section, sub = strings.ToLower(m[1]), m[2]
			continue
		}
		key, value, found := strings.Cut(line, "=")
		key = strings.ToLower(strings.TrimRight(key, " \t"))
		value, plain := unquote(strings.Trim(value, " \t"))
		if !found || !plain || section == "" || !keyName().MatchString(key) {
			return nil, false
		}
		out = append(out, setting{section, sub, key, value})
	}
	return out, true
}

// The patterns are compiled at their first use, because few runs make a repository, and every
// start of rye would pay for them.
var (
	heading = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\[([A-Za-z][A-Za-z0-9-]*)(?:[ \t]+"([^"\\]*)")?\]$`)
	})
	keyName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]*$`) })
)

// unquote accepts a value that is quoted as a whole, or not at all.
func unquote(v string) (string, bool) {
	if len(v) >= 2 && v[0] == '"' && v[len(v)-1] == '"' {
		v = v[1 : len(v)-1]
		return v, !strings.ContainsAny(v, `"\`)
	}
	return v, !strings.ContainsAny(v, `"\#;`)
}

// formatConfig writes settings in the form of parseConfig.
func formatConfig(all []setting) string {
	var b strings.Builder
	for i, s := range all {
		if i == 0 || s.section != all[i-1].section || s.sub != all[i-1].sub {
			b.WriteString("[" + s.section)
			if s.sub != "" {
				b.WriteString(` "` + s.sub + `"`)
			}
			b.WriteString("]\n")
		}
		v := s.value
		if strings.ContainsAny(v, "#;") || strings.Trim(v, " \t") != v {
			v = `"` + v + `"`
		}
		b.WriteString("\t" + s.key + " = " + v + "\n")
	}
	return b.String()
}

// harmlessConfig returns the settings of a config that start no program and lead nowhere else,
// and whether these are all settings.
func harmlessConfig(text string) (keep string, all bool) {
	settings, ok := parseConfig(text)
	if !ok {
		return "", false
	}
	n := len(settings)
	settings = slices.DeleteFunc(settings, func(s setting) bool { return !s.harmless() })
	return formatConfig(settings), len(settings) == n
}

// harmless has a pattern for the values, by section and key. A star stands for any name in
// quotes.
var harmless = map[string]string{
	"core.repositoryformatversion": "0|1",
	"core.filemode":                boolean,
	"core.bare":                    boolean,
	"core.logallrefupdates":        "true|false|always",
	"core.ignorecase":              boolean,
	"core.precomposeunicode":       boolean,
	"core.symlinks":                boolean,
	"core.autocrlf":                "true|false|input",
	"extensions.objectformat":      "sha1|sha256",
	"extensions.refstorage":        "files|reftable",
	"init.defaultbranch":           plainName,
	"user.name":                    `[^"\\]*`,
	"user.email":                   `[^"\\]*`,
	"extensions.partialclone":      plainName,
	"lfs.repositoryformatversion":  "0|1",
	"remote.*.promisor":            boolean,
	"remote.*.partialclonefilter":  `blob:none|blob:limit=[0-9]+[kmg]?|tree:[0-9]+`,
	"remote.*.tagopt":              `--no-tags|--tags`,
	"submodule.active":             `\.`,
	"submodule.*.active":           boolean,
	"submodule.*.url":              address,
	"remote.*.url":                 address,
	"remote.*.fetch":               `\+?refs/[^ :"\\]*:refs/[^ :"\\]*`,
	"branch.*.remote":              plainName + `|\.`,
	"branch.*.merge":               `refs/[^ :"\\]*`,
	"branch.*.rebase":              "true|false|merges",
}

const (
	plainName = `[A-Za-z0-9_][A-Za-z0-9._/-]*`
	boolean   = "true|false"

	// address has no form that starts a program ("ext::") or an option ("-oProxyCommand"). A path of
	// this machine is one: git runs no program of the repository that it fetches from.
	address = `(https|ssh)://([A-Za-z0-9._%+:-]+@)?[A-Za-z0-9[][^ @"\\]*|[A-Za-z0-9._]+@[A-Za-z0-9][A-Za-z0-9.-]*:[A-Za-z0-9._~/][A-Za-z0-9._~/+-]*|(file://)?/[^:"\\]*|\.{1,2}(/[^:"\\]*)?`
)

func (s setting) harmless() bool {
	in := s.section + "."
	if s.sub != "" {
		in += "*."
	}
	pattern, ok := harmless[in+s.key]
	return ok && regexp.MustCompile(`^(?:`+pattern+`)$`).MatchString(s.value)
}
