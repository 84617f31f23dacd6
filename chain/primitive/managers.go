package primitive

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// managed lists the real programs of a version manager, found by its layout.
func managed(s Spec, in Search) []string {
	if in.Home == "" {
		return nil
	}
	name := cmp.Or(s.Binary, map[string]string{"pyenv": "python3", "nvm": "node", "rbenv": "ruby", "asdf": s.Fallback, "mise": s.Fallback, "volta": "node"}[s.Manager])
	if name == "" || strings.ContainsAny(name+s.Version, `/\`) || s.Version == ".." {
		return nil
	}
	switch s.Manager {
	case "pyenv", "rbenv":
		root := filepath.Join(in.Home, "."+s.Manager)
		return versions(filepath.Join(root, "versions"), cmp.Or(s.Version, firstWord(filepath.Join(root, "version"))), name)
	case "nvm":
		root := filepath.Join(in.Home, ".nvm")
		v := cmp.Or(s.Version, firstWord(filepath.Join(root, "alias", "default")))
		if v != "" && v[0] >= '0' && v[0] <= '9' {
			v = "v" + v
		}
		return versions(filepath.Join(root, "versions", "node"), v, name)
	case "asdf":
		plugin := cmp.Or(map[string]string{"node": "nodejs", "python3": "python"}[name], name)
		return versions(filepath.Join(in.Home, ".asdf", "installs", plugin), cmp.Or(s.Version, toolVersion(in.Home, plugin)), name)
	case "mise":
		tool := plugin(name, nil)
		return versions(filepath.Join(in.Home, ".local", "share", "mise", "installs", tool), cmp.Or(s.Version,
			miseVersion(readText(filepath.Join(in.Home, ".config", "mise", "config.toml")), tool), toolVersion(in.Home, tool)), name)
	case "volta":
		return versions(filepath.Join(in.Home, ".volta", "tools", "image", name), s.Version, name)
	}
	return nil
}

// behind lists the programs that a shim at path stands for, by the user's global choice; none if
// path is no shim of a known manager. A file of the current directory has no say.
func (in Search) behind(path string, isProgram bool) []string {
	if isProgram {
		return nil
	}
	dir, name := filepath.Dir(path), strings.TrimSuffix(filepath.Base(path), ".exe")
	root := filepath.Dir(dir)
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil
	}
	version, at := "", ""
	switch by := strings.TrimSuffix(filepath.Base(target), ".exe"); {
	case by == "volta-shim":
		tool := plugin(name, map[string]string{"npm": "node", "npx": "node"})
		version, at = voltaVersion(readText(filepath.Join(root, "tools", "user", "platform.json"))), filepath.Join(root, "tools", "image", tool)
	case filepath.Base(dir) != "shims":
	case by == "mise" || by == "rtx":
		tool := plugin(name, nil)
		version = cmp.Or(miseVersion(readText(filepath.Join(in.Home, ".config", "mise", "config.toml")), tool), toolVersion(in.Home, tool))
		at = filepath.Join(root, "installs", tool)
	case isDir(filepath.Join(root, "installs")):
		tool := plugin(name, map[string]string{"node": "nodejs"})
		version, at = toolVersion(in.Home, tool), filepath.Join(root, "installs", tool)
	case isDir(filepath.Join(root, "versions")):
		version, at = firstWord(filepath.Join(root, "version")), filepath.Join(root, "versions")
	}
	if version == "" || in.Home == "" {
		return nil
	}
	return versions(at, version, name)
}

// plugin returns the name by which a manager knows the tool of a program.
func plugin(name string, others map[string]string) string {
	if strings.HasPrefix(name, "python") {
		return "python"
	}
	return cmp.Or(others[name], name)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// voltaVersion returns the version of Node in volta's platform.json, or "".
func voltaVersion(text string) string {
	var platform struct {
		Node struct {
			Runtime string `json:"runtime"`
		} `json:"node"`
	}
	if json.Unmarshal([]byte(text), &platform) != nil {
		return ""
	}
	return platform.Node.Runtime
}

// miseVersion returns the version of a tool in the text of mise's configuration, or "": the first
// string of its line in [tools].
func miseVersion(text, tool string) string {
	within := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			within = line == "[tools]"
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || !within || strings.Trim(strings.TrimSpace(key), `"'`) != tool {
			continue
		}
		if i := strings.IndexAny(value, `"'`); i >= 0 {
			if version, _, ok := strings.Cut(value[i+1:], value[i:i+1]); ok {
				return version
			}
		}
	}
	return ""
}

// versions lists dir/<version>*/bin/name, the highest version first. Without a version it lists
// all.
func versions(dir, version, name string) []string {
	if strings.ContainsAny(version, `/\*`) || version == ".." {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var found []string
	for _, e := range entries {
		if version == "" || e.Name() == version || strings.HasPrefix(e.Name(), version+".") {
			found = append(found, e.Name())
		}
	}
	sort.Slice(found, func(i, j int) bool { return naturalLess(found[j], found[i]) })
	for i, v := range found {
		found[i] = filepath.Join(dir, v, "bin", name)
	}
	return found
}

// naturalLess compares runs of digits as numbers, so that 3.9 comes before 3.12.
func naturalLess(a, b string) bool {
	for a != "" && b != "" {
		na, nb := digits(a), digits(b)
		if na > 0 && nb > 0 {
			da, db := strings.TrimLeft(a[:na], "0"), strings.TrimLeft(b[:nb], "0")
			if len(da) != len(db) {
				return len(da) < len(db)
			}
			if da != db {
				return da < db
			}
			a, b = a[na:], b[nb:]
			continue
		}
		if a[0] != b[0] {
			return a[0] < b[0]
		}
		a, b = a[1:], b[1:]
	}
	return len(a) < len(b)
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// toolVersion returns the version of a plugin in the user's own .tool-versions, or "".
func toolVersion(home, plugin string) string {
	for line := range strings.Lines(readText(filepath.Join(home, ".tool-versions"))) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == plugin {
			return f[1]
		}
	}
	return ""
}

func firstWord(path string) string {
	if words := strings.Fields(readText(path)); len(words) > 0 {
		return words[0]
	}
	return ""
}

// readText reads a small file of a manager. A missing, large or unreadable file counts as empty.
func readText(path string) string {
	text, err := readSmall(path)
	if err != nil {
		return ""
	}
	return string(text)
}
