// Package network finds the proxies, mirrors and certificate authorities that the user's own
// configuration sets for pip, npm, Go, git, curl and Node, so that tools can use them too.
//
// A tool gets a clean environment and a home of its own. Behind a company's proxy its pip would
// not find an index. The table in rows.go lists every variable that a tool can get, and where the
// user may have set it: in the environment, or in a file of the user's. Nothing else is read, and
// nothing reaches a tool under another name.
//
// A clone must not choose where a tool's packages come from. So no file counts that lies in the
// project or is reached through it, by a link, by a variable such as PIP_CONFIG_FILE, or because
// the home directory lies there.
//
// An address is taken apart and built again from scheme, host, port and path. User, password and
// query are left out, because tools must not have them. A value with a part that this package
// does not understand is skipped as a whole, and the reason never quotes it: it may be a
// password. Of a file with certificates only valid CERTIFICATE blocks are copied.
//
// # Reasons
//
// Variables are used where a program knows one, because they need no place and end with the
// run. curl has none for its proxy alone, so it gets a file. git has one for any setting
// (GIT_CONFIG_COUNT), which no other source may use.
//
// url.<base>.insteadOf of git is not taken over: it can name programs and hosts that are no mirror
// of anything known. Nor are settings that switch off TLS checks, except pip's trusted-host for a
// mirror that is named.
package network

import (
	"io/fs"
	"os"
	"runtime"
	"strings"

	"github.com/rye-os/rye/chain/primitive"
)

// Source is where the settings of one user are.
type Source struct {
	Env     []string // the user's environment, as NAME=value
	Home    string   // "" for none
	Project string   // nothing in it or through it counts; "" for none
}

// Found are the settings of a user, and what was not usable.
type Found struct {
	Settings []Setting
	Skipped  []Skipped
}

// Setting is one variable for tools.
type Setting struct {
	Name  string // the variable, or the setting of a program: "PIP_INDEX_URL", "git http.proxy"
	Value string // without user, password and query
	From  string // "the environment" or a file

	// Public is the host that a mirror stands for: it reaches tools that may reach this host. ""
	// is a setting for every tool that may reach another machine.
	Public string
	Hosts  []string // host:port of the proxy or the mirrors
	Bare   bool     // a user, a password or a query was left out
	System bool     // it is in a file of the system, which tools read themselves: no variable
	Proxy  bool     // it is about proxies

	Vars  map[string]string // the tool's variables
	Paths map[string]string // variables that name files of Files, by paths below the run's directory
	Files []primitive.File  // for the run's directory, where the tool can only read
}

// Skipped is a setting, or a file with settings, that is not used.
type Skipped struct {
	What string // a variable or a file
	Why  string // never quotes a value
}

// Read finds the settings. It writes nothing, and reads files within bounds.
func Read(src Source) Found {
	r := &reader{Source: src, system: runtime.GOOS, configs: map[string]map[string]entry{}, within: map[string]bool{}}
	if src.Project != "" {
		var err error
		if r.project, err = os.Stat(src.Project); err != nil {
			return Found{Skipped: []Skipped{{What: "every setting", Why: "is left out, because the project cannot be read"}}}
		}
	}
	for _, row := range rows {
		if e, ok := r.find(row); ok {
			r.add(row, e)
		}
	}
	return r.found
}

// Names reports whether a variable of the user's environment decides about settings.
func Names(variable string) bool {
	for _, row := range rows {
		if row.env != "" && sameName(row.env, variable) {
			return true
		}
	}
	for _, name := range places {
		if sameName(name, variable) {
			return true
		}
	}
	return false
}

// A reader reads the settings of one user.
type reader struct {
	Source
	system  string // as runtime.GOOS
	found   Found
	configs map[string]map[string]entry // by program
	project fs.FileInfo
	within  map[string]bool // paths, whether they are in the project
}

// entry is a value and its place.
type entry struct {
	value, from string
	system      bool // tools can read the file
}

const environment = "the environment"

// find returns the user's value for a row. The environment comes before files, as it does for each
// of the programs.
func (r *reader) find(row row) (entry, bool) {
	if row.env != "" {
		if v := r.variable(row.env); v != "" {
			return entry{value: v, from: environment}, true
		}
	}
	if row.program == "" {
		return entry{}, false
	}
	e, ok := r.config(row.program)[row.key]
	return e, ok && e.value != ""
}

// variable returns a variable of the user's environment.
func (r *reader) variable(name string) string {
	for _, kv := range r.Env {
		if k, v, ok := strings.Cut(kv, "="); ok && sameName(name, k) {
			return v
		}
	}
	return ""
}

// sameName compares names of variables. npm ignores the case of its own, and Windows of all.
func sameName(name, other string) bool {
	if strings.HasPrefix(name, "npm_config_") || runtime.GOOS == "windows" {
		return strings.EqualFold(name, other)
	}
	return name == other
}

func (r *reader) skip(what, why string) {
	r.found.Skipped = append(r.found.Skipped, Skipped{What: what, Why: why})
}

// add makes a setting of the value in a row.
func (r *reader) add(row row, e entry) {
	s := Setting{Name: row.name(), From: e.from, Public: row.public, System: e.system, Proxy: row.proxies()}
	if why := r.clean(row, e.value, &s); why != "" {
		what := s.Name
		if e.from != environment {
			what += " in " + e.from
		}
		r.skip(what, why)
		return
	}
	if s.Value == "" {
		return
	}
	s.System = s.System && s.Paths == nil // the file may name one that tools cannot read
	switch {
	case s.System:
		s.Vars = nil
	case s.Vars == nil && s.Paths == nil:
		s.Vars = map[string]string{row.env: s.Value}
	}
	r.found.Settings = append(r.found.Settings, s)
}
