package app

import (
	"bufio"
	"context"
	"io"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"golang.org/x/term"
)

// consent asks the person at the terminal. A flag that answers the question does so, and is
// shown. Without a terminal and such a flag, the answer is a refusal that names what answers.
func (a *App) consent(ctx context.Context, q rye.Question) (bool, error) {
	if flag := a.Flags.answering(q); flag != "" {
		if !a.Quiet {
			a.Screen.Say("rye: %s: %s: yes, by %s\n", q.Topic, q.Text, flag)
		}
		return true, nil
	}
	if !a.Screen.InTTY || !a.Screen.ErrTTY {
		return false, refusal(q)
	}
	Listen(ctx) // Ctrl-C is an answer, and what was begun is to be cleared away
	a.Screen.Say("%s\n", q.Text)
	for _, l := range q.Lines {
		a.Screen.Say("    %s\n", l)
	}
	a.Screen.Say("%s? [y/N] ", q.Topic)
	answer, err := a.readLine(ctx)
	if err != nil {
		a.Screen.Say("\n")
		return false, err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// answering returns the flags of the command line that answer a question, "" for none. --yes
// answers what needs no person and no flag of its own. A request has flags, too: the room that
// asks takes those off the question.
func (f Flags) answering(q rye.Question) string {
	if len(q.Flags) == 0 {
		if f.Yes && !q.Person {
			return "--yes"
		}
		return ""
	}
	for _, flag := range q.Flags {
		if ns, owner := strings.CutPrefix(flag, rye.AcceptOwner+" "); !owner || !slices.Contains(f.AcceptOwner, ns) {
			return ""
		}
	}
	return strings.Join(q.Flags, " ")
}

// maxRefusal bounds what an error repeats of a question, in bytes.
const maxRefusal = 4 << 10

func refusal(q rye.Question) error {
	mend := q.Mend
	if mend.IsZero() {
		mend = fault.Advice("look at it, then say --yes")
	}
	about := q.Text
	if len(q.Lines) > 0 {
		var lines []string
		for _, l := range q.Lines {
			lines = append(lines, strings.Join(strings.Fields(l), " ")) // columns mean nothing in a sentence
		}
		about += " (" + words.Clip(strings.Join(lines, "; "), maxRefusal) + ")"
	}
	why := "this needs consent, and there is no terminal to ask on"
	if len(q.Flags) > 0 {
		why += "; --yes does not answer it, but " + strings.Join(q.Flags, " ")
	}
	return fault.New(fault.Denied, "%s: %s: %s", q.Topic, about, why).With(mend)
}

// ReadLine reads one line of the terminal.
func (a *App) readLine(ctx context.Context) (string, error) {
	return interruptible(ctx, func() (string, error) {
		text, err := bufio.NewReader(a.Screen.In).ReadString('\n')
		if err == io.EOF {
			err = nil // an end of input is an answer: no
		}
		return text, err
	})
}

// interruptible waits for read or the end of ctx. The reading goroutine outlives
// a cancelled wait, because a terminal's read cannot be interrupted portably; the
// process is about to end then.
func interruptible[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	got := make(chan answer, 1)
	go func() {
		value, err := read()
		got <- answer{value, err}
	}()
	select {
	case a := <-got:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// ReadSecret asks for a line without showing it. It needs a terminal. The terminal
// is silent before the question appears, so that what is typed ahead is not shown either.
func (a *App) ReadSecret(ctx context.Context, prompt string) ([]byte, error) {
	if !a.Screen.InTTY || !a.Screen.ErrTTY {
		return nil, fault.New(fault.Denied, "%s: there is no terminal to ask on", prompt)
	}
	Listen(ctx) // the terminal is not to stay silent
	fd := int(a.Screen.In.Fd())
	restore, err := hush(fd)
	if err != nil {
		return nil, fault.New(fault.Failed, "hide the input for %s: %w", prompt, err)
	}
	// Also when the wait is cancelled: the reading goroutine is left behind then.
	defer restore()
	a.Screen.Say("%s: ", prompt)
	secret, err := interruptible(ctx, func() ([]byte, error) { return term.ReadPassword(fd) })
	a.Screen.Say("\n")
	return secret, err
}
