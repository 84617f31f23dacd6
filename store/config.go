package store

import (
	"strings"

	"github.com/rye-os/rye/internal/fault"
)

// newConfig returns the config file of a new repository. git and go-git read it;
// rye itself reads only the format.
func newConfig(f Format) string {
	version, extensions := "0", ""
	if f != SHA1 {
		version, extensions = "1", "[extensions]\n\tobjectFormat = "+f.String()+"\n"
	}
	return `[core]
	repositoryFormatVersion = ` + version + `
	bare = true
	fileMode = false
	logAllRefUpdates = false
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

// formatOf reads the object format out of a repository's config and refuses
// formats that this package does not read, as git demands of every reader.
func formatOf(text string) (Format, error) {
	f, version := SHA1, ""
	var unknown []string
	err := eachSetting(text, func(key, value string) {
		name, isExtension := strings.CutPrefix(key, "extensions.")
		switch {
		case key == "core.repositoryformatversion":
			version = value
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
		return 0, err
	case version != "" && version != "0" && version != "1":
		return 0, fault.New(fault.Malformed, "repository format version %q: want 0 or 1", clip(version))
	case version != "1":
		return SHA1, nil // extensions do not count then
	case len(unknown) > 0:
		return 0, fault.New(fault.Malformed, "unknown repository extension %q", clip(unknown[0]))
	}
	return f, nil
}

// eachSetting reads git's config syntax as far as repository formats need it:
// sections, keys, plain and quoted values, comments. Keys come in lower case,
// "section.key" or "section.subsection.key".
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
