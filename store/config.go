package store

import (
	"strconv"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// newConfig returns the config file of a new repository. git and go-git read it. rye itself
// reads only the format, whether refs keep logs, and whether it sets an expiry for logs.
func newConfig(f Format) string {
	version, extensions := "0", ""
	if f != SHA1 {
		version, extensions = "1", "[extensions]\n\tobjectFormat = "+f.String()+"\n"
	}
	return `[core]
	repositoryFormatVersion = ` + version + `
	bare = true
	fileMode = false
	logAllRefUpdates = true
	fsync = committed,loose-object,reference
` + extensions + `[gc]
	auto = 0
[maintenance]
	auto = false
[receive]
	autoGC = false
	denyNonFastForwards = true
	fsckObjects = true
[fetch]
	fsckObjects = true
[transfer]
	unpackLimit = 1
[uploadpack]
	allowFilter = true
	allowReachableSHA1InWant = true
`
}

const maxConfig = 1 << 20 // bytes

// config holds the settings that rye reads from a repository's config.
type config struct {
	format    Format
	logs      logRule
	ownExpiry bool // the config sets how long logs are kept
}

// parseConfig reads a repository's config and refuses formats that this package
// does not read, as git demands of every reader.
func parseConfig(text string) (c config, err error) {
	if text == newConfig(SHA1) { // nearly always; FuzzConfig compares both ways
		return config{format: SHA1, logs: logBranches}, nil
	}
	return parseAnyConfig(text)
}

// parseAnyConfig is parseConfig for a config that was changed.
func parseAnyConfig(text string) (c config, err error) {
	f, version, bare, logs := SHA1, "", true, ""
	var unknown []string
	err = eachSetting(text, func(key, value string) {
		name, isExtension := strings.CutPrefix(key, "extensions.")
		switch {
		case key == "core.repositoryformatversion":
			version = value
		case key == "core.bare":
			bare = isTrue(value)
		case key == "core.logallrefupdates":
			logs = value
		case key == "gc.reflogexpire":
			c.ownExpiry = true
		case key == "extensions.objectformat" && value == "sha256":
			f = SHA256
		case key == "extensions.objectformat" && value == "sha1":
			f = SHA1
		case key == "extensions.refstorage" && value == "files":
		case isExtension && (name == "noop" || name == "preciousobjects" || name == "partialclone" || name == "worktreeconfig"):
		case isExtension:
			unknown = append(unknown, key+"="+value)
		}
	})
	switch {
	case err != nil:
		return c, err
	case version != "" && version != "0" && version != "1":
		return c, fault.New(fault.Malformed, "repository format version %q: want 0 or 1", words.Brief(version))
	case version != "1":
		f = SHA1 // extensions have no effect then
	case len(unknown) > 0:
		return c, fault.New(fault.Malformed, "unknown repository extension %q", words.Brief(unknown[0]))
	}
	c.format = f
	switch {
	case strings.EqualFold(logs, "always"):
		c.logs = logAlways
	case isTrue(logs), logs == "" && !bare:
		c.logs = logBranches
	}
	return c, nil
}

// isTrue reads a boolean as git does.
func isTrue(value string) bool {
	switch strings.ToLower(value) {
	case "true", "yes", "on":
		return true
	}
	n, err := strconv.Atoi(value)
	return err == nil && n != 0
}

// eachSetting reads the part of git's config syntax that repository formats need: sections,
// keys, plain and quoted values, comments. Keys are in lower case, "section.key" or
// "section.subsection.key".
func eachSetting(text string, visit func(key, value string)) error {
	section := ""
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			end := strings.LastIndexByte(line, ']')
			if end < 0 {
				return fault.New(fault.Malformed, "config line %d: section without ]", n+1)
			}
			name, sub, _ := strings.Cut(line[1:end], " ")
			section = strings.ToLower(name) + "."
			if sub = strings.Trim(sub, " \""); sub != "" {
				section += sub + "."
			}
			line = strings.TrimSpace(line[end+1:])
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			value = "true"
		}
		visit(section+strings.ToLower(strings.TrimSpace(key)), plainValue(value))
	}
	return nil
}

// plainValue strips comments, blanks and quotes.
func plainValue(v string) string {
	v = strings.TrimSpace(v)
	if strings.HasPrefix(v, `"`) {
		if end := strings.IndexByte(v[1:], '"'); end >= 0 {
			return v[1 : 1+end]
		}
	}
	if i := strings.IndexAny(v, "#;"); i >= 0 {
		v = strings.TrimSpace(v[:i])
	}
	return v
}
