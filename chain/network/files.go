package network

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
)

// testOnlyEtc is changed by tests, because a machine has settings of its own there.
var testOnlyEtc = "/etc"

const maxConfig = 256 << 10 // bytes of a file with settings

// Reasons for skipping a file.
const (
	inProject   = "lies in this project or is reached through it, so a clone could have brought it"
	notAbsolute = "is not an absolute path"
	missing     = "does not exist"
	notFile     = "is not a plain file"
	tooLarge    = "is too large"
	notReadable = "cannot be read"
	notText     = "is not text"
)

func unreadable(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return missing
	case fault.Is(err, fault.Malformed):
		return notFile
	case fault.Is(err, fault.Limit):
		return tooLarge
	}
	return notReadable
}

// own returns a path of the user's with "~" resolved, and without links. Nothing on the way to it
// may be of the project.
func (r *reader) own(path string) (abs, real, why string) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && r.Home != "" {
		path = filepath.Join(r.Home, rest)
	}
	if !filepath.IsAbs(path) {
		return "", "", notAbsolute
	}
	path = filepath.Clean(path)
	links, real, ok := primitive.Way(path)
	for _, p := range append([]string{path, real}, links...) {
		if p != "" && r.inProject(p) {
			return "", "", inProject
		}
	}
	if !ok {
		return "", "", missing
	}
	return path, real, ""
}

// inProject reports whether a path is the project or below it. It compares directories and not
// their names, which file systems can spell in several ways.
func (r *reader) inProject(path string) bool {
	if r.Project == "" {
		return false
	}
	if in, ok := r.within[path]; ok {
		return in
	}
	st, err := os.Stat(path)
	up := filepath.Dir(path)
	in := err == nil && os.SameFile(st, r.project) || up != path && r.inProject(up)
	r.within[path] = in
	return in
}

// config returns the settings in the files of a program. Later files override earlier ones.
func (r *reader) config(program string) map[string]entry {
	if all, ok := r.configs[program]; ok {
		return all
	}
	all := map[string]entry{}
	r.configs[program] = all
	for _, path := range r.files(program) {
		if _, err := os.Lstat(path); err != nil {
			continue // also for "", the path below a directory that is unknown
		}
		values, real, why := r.values(program, path)
		if why != "" {
			r.skip(r.short(path), why)
		}
		for k, v := range values {
			all[k] = entry{v, r.short(path), ofSystem(path, real)}
		}
	}
	return all
}

// values reads one file.
func (r *reader) values(program, path string) (values map[string]string, real, why string) {
	_, real, why = r.own(path)
	if why != "" {
		return nil, real, why
	}
	text, err := place.Read(real, maxConfig)
	if err != nil {
		return nil, real, unreadable(err)
	}
	if !utf8.Valid(text) || strings.ContainsRune(string(text), 0) {
		return nil, real, notText
	}
	values, why = parsers[program](strings.TrimPrefix(string(text), "\ufeff"))
	return values, real, why
}

// short writes a path with ~ for the home directory.
func (r *reader) short(path string) string {
	if rel, err := filepath.Rel(r.Home, path); r.Home != "" && err == nil && filepath.IsLocal(rel) {
		return "~/" + filepath.ToSlash(rel)
	}
	return path
}

// named returns the file that a variable of the user's names. A file of the project is as good as
// no variable.
func (r *reader) named(variable string) string {
	path := r.variable(variable)
	if path == "" || path == os.DevNull || path == "off" {
		return path
	}
	if _, _, why := r.own(path); why != "" {
		r.skip(variable, why)
		return ""
	}
	return path
}

// files lists the files of a program in the order in which it reads them.
func (r *reader) files(program string) []string {
	switch program {
	case "pip":
		return r.pipFiles()
	case "npm":
		return r.either("npm_config_userconfig", r.home(".npmrc"))
	case "go":
		if r.system == "darwin" {
			return r.either("GOENV", r.home("Library/Application Support/go/env"))
		}
		return r.either("GOENV", r.settings("go/env"))
	case "git":
		if r.system == "windows" {
			return r.either("GIT_CONFIG_GLOBAL", r.home(".config/git/config"), r.home(".gitconfig"))
		}
		return append([]string{filepath.Join(testOnlyEtc, "gitconfig")}, r.either("GIT_CONFIG_GLOBAL", r.settings("git/config"), r.home(".gitconfig"))...)
	}
	return r.curlFile()
}

// either returns the file that a variable names, and otherwise the usual ones.
func (r *reader) either(variable string, usual ...string) []string {
	switch path := r.named(variable); path {
	case "":
		return usual
	case "off", os.DevNull:
		return nil
	default:
		return []string{path}
	}
}

// pipFiles lists pip's files: the one of the variable, the system's, and the user's if there is
// none of the variable.
func (r *reader) pipFiles() (list []string) {
	own := r.named("PIP_CONFIG_FILE")
	switch own {
	case os.DevNull:
		return nil
	case "":
	default:
		return append([]string{own}, r.systemPip()...)
	}
	list = r.systemPip()
	switch r.system {
	case "windows":
		return append(list, r.home("pip/pip.ini"), r.settings("pip/pip.ini"))
	case "darwin":
		return append(list, r.home(".pip/pip.conf"), r.settings("pip/pip.conf"), r.home("Library/Application Support/pip/pip.conf"))
	}
	return append(list, r.home(".pip/pip.conf"), r.settings("pip/pip.conf"))
}

// home returns a path below the home directory; "" without one.
func (r *reader) home(name string) string { return under(r.Home, name) }

func under(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, filepath.FromSlash(name))
}

// settings returns a path below the directory where the user's programs keep their settings.
func (r *reader) settings(name string) string { return under(r.configDir(), name) }

func (r *reader) configDir() string {
	if r.system == "windows" {
		return r.variable("APPDATA")
	}
	if dir := r.variable("XDG_CONFIG_HOME"); dir != "" {
		return dir
	}
	return under(r.Home, ".config")
}

// systemPip lists the files of pip for all users.
func (r *reader) systemPip() []string {
	switch r.system {
	case "windows":
		if dir := r.variable("PROGRAMDATA"); dir != "" {
			return []string{filepath.Join(dir, "pip", "pip.ini")}
		}
		return nil
	case "darwin":
		return []string{"/Library/Application Support/pip/pip.conf"}
	}
	dirs := r.variable("XDG_CONFIG_DIRS")
	if dirs == "" {
		dirs = "/etc/xdg"
	}
	var list []string
	for _, dir := range filepath.SplitList(dirs) {
		list = append(list, filepath.Join(dir, "pip", "pip.conf"))
	}
	return append(list, filepath.Join(testOnlyEtc, "pip.conf"))
}

// curlFile returns the one file that curl reads: the first that exists.
func (r *reader) curlFile() []string {
	own, xdg := r.variable("CURL_HOME"), r.variable("XDG_CONFIG_HOME")
	for _, path := range []string{under(own, ".curlrc"), under(xdg, "curlrc"), under(xdg, ".curlrc"), r.home(".curlrc"), r.home(".config/curlrc"), r.home("_curlrc")} {
		if _, err := os.Lstat(path); err == nil {
			return []string{path}
		}
	}
	return nil
}

// parsers read the text of a program's file. Each returns the reason why it cannot.
var parsers = map[string]func(text string) (values map[string]string, why string){
	"pip": parsePip, "npm": parseNpm, "go": parseGo, "git": parseGit, "curl": parseCurl,
}

const notSettings = "has a line that is no setting"

// parsePip reads an INI file as Python's configparser does. What is set for pip install alone
// overrides what is set for all commands.
func parsePip(text string) (map[string]string, string) {
	sections := map[string]map[string]string{}
	var in map[string]string
	key := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		word := strings.TrimSpace(line)
		switch {
		case word == "", word[0] == '#', word[0] == ';':
		case word != "" && (line[0] == ' ' || line[0] == '\t') && key != "":
			in[key] += "\n" + word
		case word[0] == '[' && strings.HasSuffix(word, "]"):
			name := word[1 : len(word)-1]
			if in = sections[name]; in == nil {
				in = map[string]string{}
				sections[name] = in
			}
			key = ""
		default:
			at := strings.IndexAny(word, "=:")
			if at <= 0 || in == nil {
				return nil, notSettings
			}
			key = strings.TrimPrefix(strings.ReplaceAll(strings.ToLower(strings.TrimSpace(word[:at])), "_", "-"), "--")
			in[key] = strings.TrimSpace(word[at+1:])
		}
	}
	all := map[string]string{}
	maps.Copy(all, sections["global"])
	maps.Copy(all, sections["install"])
	return all, ""
}

// parseNpm reads the settings of an .npmrc before its first section. A value that npm would fill
// with a variable stays as it is, and is no address then.
func parseNpm(text string) (map[string]string, string) {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			break
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		if len(value) > 1 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0] {
			value = value[1 : len(value)-1]
		} else if at := strings.IndexAny(value, ";#"); at >= 0 {
			value = strings.TrimSpace(value[:at])
		}
		all[strings.TrimSpace(key)] = value
	}
	return all, ""
}

// parseGo reads the file of go env -w.
func parseGo(text string) (map[string]string, string) {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(key, "#") {
			all[key] = value
		}
	}
	return all, ""
}

// parseGit reads the plain sections of a git configuration. Sections for one address, such as
// [http "https://example.org"], and included files do not count.
func parseGit(text string) (map[string]string, string) {
	all := map[string]string{}
	section := ""
	for line := range strings.Lines(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\\\n", "")) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			name, rest, ok := strings.Cut(line[1:], "]")
			if !ok {
				return nil, notSettings
			}
			section, line = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(rest)
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		value, ok := gitValue(strings.TrimSpace(value))
		if !ok {
			return nil, notSettings
		}
		all[section+"."+strings.ToLower(strings.TrimSpace(key))] = value
	}
	return all, ""
}

// gitValue removes quotes, escapes and comments.
func gitValue(text string) (string, bool) {
	var out strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && i+1 < len(text):
			i++
			out.WriteByte(text[i])
		case !quoted && (c == '#' || c == ';'):
			return strings.TrimSpace(out.String()), true
		default:
			out.WriteByte(c)
		}
	}
	return strings.TrimSpace(out.String()), !quoted
}

// curlNames are the options of curl that count, in their short form too.
var curlNames = map[string]string{"proxy": "proxy", "-x": "proxy", "noproxy": "noproxy", "cacert": "cacert"}

// parseCurl reads a .curlrc: an option in each line, with or without dashes, and its value behind
// a space, "=" or ":".
func parseCurl(text string) (map[string]string, string) {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, value := line, ""
		if at := strings.IndexAny(line, " \t=:"); at >= 0 {
			name, value = line[:at], strings.TrimLeft(line[at:], " \t=:")
		}
		key, ok := curlNames[strings.TrimPrefix(name, "--")]
		if !ok {
			continue
		}
		if strings.HasPrefix(value, `"`) {
			if value, ok = curlQuoted(value[1:]); !ok {
				return nil, notSettings
			}
		} else {
			value, _, _ = strings.Cut(value, " ")
		}
		all[key] = value
	}
	return all, ""
}

func curlQuoted(text string) (string, bool) {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return out.String(), true
		case c == '\\' && i+1 < len(text):
			i++
			out.WriteByte(text[i])
		default:
			out.WriteByte(c)
		}
	}
	return "", false
}
