package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/agents"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
)

// marksFile, in the configuration directory, adds marks of agents (docs/format/marks.md).
const marksFile = "marks.yaml"

// maxMarks bounds the file in bytes.
const maxMarks = 64 << 10

// Attended reports whether a person can be asked: there is a terminal, and no agent left its mark
// in the environment.
func (a *App) Attended() bool {
	if !a.terminal() {
		return false
	}
	mark, err := a.mark()
	return mark.Name == "" && err == nil
}

// Agent returns the agent whose mark is in the environment, and the variable; "" for none.
func (a *App) Agent() (agent, variable string) {
	mark, _ := a.mark()
	return mark.Agent, mark.Name
}

// terminal reports whether questions and answers go through a terminal.
func (a *App) terminal() bool { return a.Screen.InTTY && a.Screen.ErrTTY }

// byPerson refuses a question that only a person may answer, or whose yes gives rights, where the
// environment is an agent's. It also refuses where the user's marks cannot be read: one of them may
// be set.
func (a *App) byPerson(q rye.Question) error {
	if !q.Person && !q.Rights {
		return nil
	}
	mark, err := a.mark()
	switch {
	case err != nil:
		return fault.Wrap(err, "%s: only a person may answer", q.Topic)
	case mark.Name == "":
		return nil
	}
	return fault.New(fault.Denied, "%w", &Unasked{q, "only a person may answer, and " + started(mark)}).With(a.elsewhere())
}

// GivesRights refuses a command or a flag that gives rights without a question where the
// environment is an agent's. doing names it. See byPerson.
func (a *App) GivesRights(doing string) error {
	mark, err := a.mark()
	switch {
	case err != nil:
		return fault.Wrap(err, "%s: only a person may do this", doing)
	case mark.Name == "":
		return nil
	}
	return fault.New(fault.Denied, "%s: only a person may do this, and %s", doing, started(mark)).With(a.elsewhere())
}

func started(mark agents.Mark) string {
	return mark.Agent + " started this command: the variable " + mark.Name + " is set"
}

// elsewhere is the advice to repeat the command where a person types.
func (a *App) elsewhere() fault.Hint {
	if len(a.Argv) == 0 {
		return fault.Advice("repeat it in a terminal that no agent started")
	}
	yes := func(word string) bool { return word == "--yes" || word == "-y" } // a person is asked there
	typed := fault.CommandOf(append([]string{"rye"}, slices.DeleteFunc(slices.Clone(a.Argv), yes)...)...)
	if a.Project != "" && a.Flags.Dir == "" {
		typed = typed.From(a.Dir)
	}
	return fault.Advice("in a terminal that no agent started, run: %s", typed)
}

// findMark returns the mark in the environment; the zero value for none.
func (a *App) findMark() (agents.Mark, error) {
	own, err := a.ownMarks()
	if err != nil {
		return agents.Mark{}, err
	}
	found, _ := agents.Find(os.Environ(), slices.Concat(agents.Known, own), runtime.GOOS == "windows")
	return found, nil
}

// ownMarks returns the marks that the user added. No file removes a known one.
func (a *App) ownMarks() ([]agents.Mark, error) {
	if a.Config == "" {
		return nil, nil
	}
	path := filepath.Join(a.Config, marksFile)
	raw, err := place.Read(path, maxMarks)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = place.Owned(path)
	}
	if err != nil {
		return nil, fault.New(fault.Auth, "%s: %w", path, err)
	}
	var file struct {
		Marks []string `yaml:"marks"`
	}
	if err := objects.DecodeYAML(raw, maxMarks, &file); err != nil {
		return nil, fault.New(fault.Malformed, "%s: %w", path, err)
	}
	own, err := agents.Own(file.Marks)
	if err != nil {
		return nil, fault.Wrap(err, "%s", path)
	}
	return own, nil
}
