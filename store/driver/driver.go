// Package driver makes rye the merge driver of the user's own git repository.
//
// It writes a section of the repository's configuration, and lines of info/attributes. Both
// files belong to the user: no branch carries them. It needs no git.
//
// # Reasons
//
// The line in the configuration is run by sh for each file that both sides of a merge changed.
// git replaces %P by the path, already in quotes, so quotes around it would take the
// protection away. The line waits for a word on standard output: an exit status of 0 from
// another program, or from a rye that was killed, would make git drop one side. Without that
// word git merge-file merges the unchanged files.
package driver

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/head"
)

const (
	configFile     = "config"
	attributesFile = "attributes" // below info
	maxFile        = 1 << 20      // bytes

	section = `[merge "rye"]`
	title   = "rye merges items without their signature lines"
)

// attributes are the lines for info/attributes, which count more than the files of a branch.
// They name items, manifests and locks only: nothing else of .ai is rye's to merge.
var attributes = []string{
	"**/.ai/directives/** merge=rye",
	"**/.ai/tools/** merge=rye",
	"**/.ai/knowledge/** merge=rye",
	"**/.ai/config/** merge=rye",
	"**/.ai/bundles/** merge=rye",
	"**/.ai/rye.lock merge=rye",
}

// Line returns the driver line for the program at an absolute path of this system or another one:
// a repository may be used from two, such as Windows and its Linux subsystem. It refuses paths that
// git's configuration, git's placeholders or sh would read as more than a path.
func Line(program string) (string, error) {
	p, absolute := slashed(program)
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._+@:- ", r)
	}
	if !absolute || strings.ContainsFunc(p, func(r rune) bool { return !plain(r) }) {
		return "", fault.New(fault.Usage, "%s: the path has characters that cannot stand in git's configuration", words.Quote(program)).
			Advise("install rye in a directory with a plain name")
	}
	return "r=; if [ -f '" + p + "' ] && [ -x '" + p + "' ]; then r=$('" + p + "' merge-driver -- %O %A %B %L %P); fi; " +
		"case $r in merged) exit 0;; conflict) exit 1;; esac; " +
		"git merge-file --marker-size=%L -L ours -L base -L theirs -- %A %O %B || exit 1", nil
}

// slashed returns a path as sh writes it, also git's sh on Windows, and whether it is absolute.
func slashed(program string) (p string, absolute bool) {
	if len(program) > 2 && program[1] == ':' && (program[2] == '\\' || program[2] == '/') || strings.HasPrefix(program, `\\`) {
		return strings.ReplaceAll(program, `\`, "/"), true
	}
	return program, strings.HasPrefix(program, "/")
}

// programOf is the inverse of Line.
func programOf(line string) (program string, ok bool) {
	_, rest, ok := strings.Cut(line, "[ -f '")
	if !ok {
		return "", false
	}
	program, _, _ = strings.Cut(rest, "'")
	want, err := Line(program)
	return program, err == nil && want == line
}

// State is how far a repository is set up.
type State struct {
	Repository head.Repository
	Line       string // the driver line that git uses; "" for none
	Program    string // its program; "" for a line that rye did not write
	Attributes bool   // whether all lines are in info/attributes
}

// Ready reports whether git starts the program at a path to merge items.
func (s State) Ready(program string) bool {
	want, err := Line(program)
	return err == nil && s.Attributes && s.Line == want
}

// Foreign reports whether git has a driver line for rye that rye did not write.
func (s State) Foreign() bool { return s.Line != "" && s.Program == "" }

// Look reads the state of dir's repository. dir is absolute and has no links; the search ends
// at home. fault.NotFound means that dir is in no repository.
func Look(dir, home string) (State, error) {
	at, err := head.Locate(dir, home)
	if err != nil {
		return State{}, err
	}
	s := State{Repository: at}
	config, err := s.read(at.Common, configFile)
	if err != nil {
		return s, err
	}
	c, err := store.ParseRepoConfig(config)
	if err != nil {
		return s, err
	}
	s.Line = c.MergeDriver
	if program, ok := programOf(s.Line); ok {
		s.Program = program
	}
	text, err := s.read(filepath.Join(at.Common, "info"), attributesFile)
	s.Attributes = err == nil && len(missing(text)) == 0
	return s, err
}

// read returns a file directly in a directory of the repository, "" for a missing one. Both
// must belong to the user, and neither may be a link.
func (s State) read(dir, name string) (string, error) {
	if err := place.Mine(dir); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	root, err := place.Tree(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	raw, err := place.ReadIn(root, name, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(raw), err
}

func missing(text string) (lines []string) {
	have := map[string]bool{}
	for line := range strings.Lines(text) {
		have[strings.TrimSpace(line)] = true
	}
	for _, line := range attributes {
		if !have[line] {
			lines = append(lines, line)
		}
	}
	return lines
}

// Change is what Write would do to one file.
type Change struct {
	Path     string
	Old, New string
}

// Plan returns the changes that make the program git's driver. program must not lie in the
// checked-out tree, where a branch could replace it.
func (s State) Plan(program string) ([]Change, error) {
	line, err := Line(program)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return nil, err
	}
	for _, p := range []string{program, real} {
		if rel, err := filepath.Rel(s.Repository.Top, p); err == nil && filepath.IsLocal(rel) || inProject(filepath.Dir(p)) {
			return nil, fault.New(fault.Denied, "%s lies in a project, which could replace it", p).Advise("install rye outside of projects")
		}
	}
	var list []Change
	config, err := s.read(s.Repository.Common, configFile)
	if err != nil {
		return nil, err
	}
	if now := withSection(config, line); now != config && s.Line != line {
		list = append(list, Change{filepath.Join(s.Repository.Common, configFile), config, now})
	}
	text, err := s.read(filepath.Join(s.Repository.Common, "info"), attributesFile)
	if err != nil {
		return nil, err
	}
	if more := missing(text); len(more) > 0 {
		now := text
		if now != "" && !strings.HasSuffix(now, "\n") {
			now += "\n"
		}
		list = append(list, Change{filepath.Join(s.Repository.Common, "info", attributesFile), text, now + strings.Join(more, "\n") + "\n"})
	}
	return list, nil
}

// inProject reports whether a directory is in a project of rye.
func inProject(dir string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".ai", "rye.yaml")); err == nil {
			return true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return false
		}
		dir = up
	}
}

// withSection returns a configuration with rye's section at its end, where it counts more than
// what stands before it. An earlier section goes.
func withSection(config, line string) string {
	var out strings.Builder
	mine := false
	for l := range strings.Lines(config) {
		if t := strings.TrimSpace(l); strings.HasPrefix(t, "[") {
			mine = t == section
		}
		if !mine {
			out.WriteString(l)
		}
	}
	text := out.String()
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + section + "\n\tname = " + title + "\n\tdriver = \"" + line + "\"\n\trecursive = text\n"
}

// Write makes planned changes. It holds git's own lock of each file, and refuses a file that
// changed after the plan. Afterwards it reads the result as git would.
func (s State) Write(program string, list []Change) error {
	for _, c := range list {
		if err := s.write(c); err != nil {
			return fault.Wrap(err, "write %s", c.Path)
		}
	}
	now, err := Look(s.Repository.Top, "")
	if err == nil && !now.Ready(program) {
		err = fault.New(fault.Failed, "git's configuration in %s does not name rye after the change", s.Repository.Common)
	}
	return err
}

func (s State) write(c Change) error {
	dir, name := filepath.Split(c.Path)
	dir = filepath.Clean(dir)
	if dir != s.Repository.Common {
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	root, err := place.Tree(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	lock, err := root.OpenFile(name+".lock", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return fault.New(fault.Conflict, "another git holds %s.lock", c.Path).Advise("wait for it, or delete the file if no git runs")
	}
	if err != nil {
		return err
	}
	_ = lock.Close()
	defer func() { _ = root.Remove(name + ".lock") }()
	if now, err := s.read(dir, name); err != nil || now != c.Old {
		return errors.Join(err, fault.New(fault.Conflict, "the file changed meanwhile").Advise("run the command again"))
	}
	if c.New == "" && name == attributesFile {
		return errors.Join(root.Remove(name), place.Sync(dir)) // git makes no empty one
	}
	mode := fs.FileMode(0o644)
	if st, err := root.Lstat(name); err == nil {
		mode = st.Mode().Perm()
	}
	return place.FileIn(root, name, []byte(c.New), mode)
}
