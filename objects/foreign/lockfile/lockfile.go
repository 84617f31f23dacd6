// Package lockfile reads the lock files of other tools for agent skills, and computes the hashes in
// them by each tool's own rule: skills-lock.json and .skill-lock.json of vercel's skills,
// apm.lock.yaml of APM, toolhive.lock.yaml of ToolHive. It is pure.
//
// A lock file is a claim like any other file of a clone. Reading it contacts nothing: its sources
// are named, and the caller asks a person about them.
//
// # Reasons
//
// The syntax is read strictly, and the fields are not. A name that is given twice, an anchor or a tag
// makes two readers see two files, so such a file is refused. An unknown field is ignored and counted,
// because each of these tools adds fields without a new version. An entry that rye cannot take over
// is returned with the reason, and stops no other.
//
// Some rules are ambiguous or cover less than the folder. They are computed as their tools compute
// them, and a hash that does not fit is a difference, however likely a harmless cause is.
package lockfile

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// Limits of one lock file.
const (
	MaxSize    = 8 << 20 // bytes
	MaxEntries = 2000
	maxText    = 1024 // bytes of one name, address, ref or path
)

// Tool is a program that writes lock files.
type Tool string

// The tools.
const (
	Vercel   Tool = "skills" // the npm package skills
	APM      Tool = "APM"
	ToolHive Tool = "ToolHive"
)

// Lock is a lock file.
type Lock struct {
	Tool    Tool
	Version string // of its format
	Entries []Entry
	Unknown int      // fields that this reader does not know
	Passed  []string // parts of the file that are not taken over, such as MCP servers
}

// Entry is one locked skill, plugin or package.
type Entry struct {
	Name string // in the lock file; not checked

	// Source is where it came from, without credentials: a repository with Ref and Path, an index of
	// skills, or a folder (SourceFolder), whose Address is a slash path below the lock file's folder.
	Source objects.Source
	Commit string   // the id of the locked commit; "" for none
	Skills []string // the names to choose below the source's path; empty is all

	Sums []Sum    // what the lock says about the bytes; empty is nothing
	Why  string   // why it cannot be taken over; "" if it can. Source and Sums are then not set
	Try  string   // a source for rye add that has its content, where Why is set; "" for none
	Note []string // what rye does not check or take over of it
}

// readers are the lock files by their names.
var readers = map[string]func([]byte) (*Lock, error){
	"skills-lock.json":   readVercel,
	".skill-lock.json":   readVercelGlobal,
	"apm.lock.yaml":      readAPM,
	"toolhive.lock.yaml": readToolHive,
}

// Read reads a lock file with this name. Errors are Malformed, Limit, or Usage for a name that is
// none of a lock file.
func Read(base string, raw []byte) (*Lock, error) {
	read := readers[base]
	if read == nil {
		return nil, fault.New(fault.Usage, "%s is no lock file that rye reads", words.Quote(words.Brief(base)))
	}
	if len(raw) > MaxSize {
		return nil, fault.New(fault.Limit, "%s has %d bytes, at most %d are read", base, len(raw), MaxSize)
	}
	l, err := read(raw)
	if err != nil {
		return nil, fault.Wrap(err, "read %s", base)
	}
	if len(l.Entries) > MaxEntries {
		return nil, fault.New(fault.Limit, "read %s: %d entries, at most %d are read", base, len(l.Entries), MaxEntries)
	}
	return l, nil
}

// newer is the error for a format of later years.
func newer(version string, reads string) error {
	return fault.New(fault.Malformed, "version %s, this rye reads %s", words.Quote(words.Brief(version)), reads).Advise("install a newer rye")
}

// refuse makes an entry one that is not taken over.
func (e *Entry) refuse(why string) {
	e.Source, e.Sums, e.Commit, e.Skills, e.Why = objects.Source{}, nil, "", nil, why
}

// from sets the source. The parts are those of a lock file, so each is checked alone: none of them
// may hold another.
func (e *Entry) from(address, ref, dir string) {
	src, err := objects.ParseSource(address)
	if err == nil && (src.Ref != "" || src.Path != "" || strings.Contains(address, "#")) {
		err = fault.New(fault.Usage, "the address holds a ref or a path")
	}
	if err == nil && src.Kind != objects.SourceGit && src.Kind != objects.SourceSite {
		err = fault.New(fault.Usage, "%s is the address of no repository and no site", words.Quote(words.Brief(address)))
	}
	if err == nil && (src.Short || src.Local()) {
		err = fault.New(fault.Usage, "%s names no host", words.Quote(words.Brief(address)))
	}
	if err == nil && (ref != "" || dir != "") {
		full := src.Address
		if ref != "" {
			full += "#" + ref
		}
		if dir != "" {
			full += "//" + dir
		}
		whole, perr := objects.ParseSource(full)
		if err = perr; err == nil && (whole.Address != src.Address || !strings.EqualFold(whole.Ref, ref) && ref != "HEAD" || whole.Path != dir) {
			err = fault.New(fault.Usage, "the ref %s or the path %s is none", words.Quote(words.Brief(ref)), words.Quote(words.Brief(dir)))
		}
		src = whole
	}
	if err != nil {
		e.refuse(err.Error())
		return
	}
	e.Source = src
}

// inside sets a folder below the lock file's as the source. A lock file of a clone must not make rye
// read elsewhere on this machine.
func (e *Entry) inside(dir string) {
	dir = strings.TrimPrefix(strings.TrimSuffix(dir, "/"), "./")
	parts := strings.Split(dir, "/")
	bad := strings.HasPrefix(dir, "/") || strings.ContainsAny(dir, ":\\") || strings.HasPrefix(dir, "~") ||
		slices.ContainsFunc(parts, func(p string) bool { return p == "" || p == "." || p == ".." || strings.EqualFold(p, ".git") })
	if bad && dir != "." && dir != "" {
		e.refuse("its folder is not below the lock file's: " + words.Quote(words.Brief(dir)))
		return
	}
	if dir == "" {
		dir = "."
	}
	e.Source = objects.Source{Kind: objects.SourceFolder, Address: dir}
}

// text refuses a value that cannot stand in a source.
func text(s string) bool {
	return len(s) <= maxText && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}
