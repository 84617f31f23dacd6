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

// consent asks the person at the terminal. A flag that answers the question replaces the
// person, and is shown. Without a terminal and such a flag, the answer is a refusal that names
// the flag or command to use. Where an agent left its mark, neither a flag nor a terminal answers for
// a person.
func (a *App) consent(ctx context.Context, q rye.Question) (bool, error) {
	if err := a.byPerson(q); err != nil {
		return false, err
	}
	if flag := a.Flags.answering(q); flag != "" {
		if !a.Quiet {
			a.Screen.Say("rye: %s: %s: yes, by %s\n", q.Topic, q.Text, flag)
		}
		return true, nil
	}
	if !a.terminal() {
		return false, refusal(q)
	}
	Listen(ctx) // Ctrl-C is an answer, and unfinished work must be removed
	a.Screen.Say("%s\n", q.Text)
	for _, l := range q.Lines {
		a.Screen.Say("    %s\n", l)
	}
	choice := "[y/N]"
	if q.Always != nil {
		a.Screen.Say("    y  this time\n    a  always: %s\n    n  no\n", q.Standing)
		choice = "[y/a/N]"
	}
	a.Screen.Say("%s? %s ", q.Topic, choice)
	answer, err := a.readLine(ctx)
	if err == nil && answer == "" && q.Typed {
		err = fault.New(fault.Interrupt, "%s: the input ended", q.Topic)
	}
	if err != nil {
		a.Screen.Say("\n")
		return false, err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	case "a", "always":
		if q.Always != nil {
			q.Always()
			return true, nil
		}
	}
	return false, nil
}

// answering returns the flags of the command line that answer a question, or "". --yes answers
// a question that needs neither a person nor its own flag. The room that asks already removed
// the flags of its request from the question.
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

// maxRefusal bounds the part of a question that an error repeats, in bytes.
const maxRefusal = 4 << 10

// Unasked is the refusal of a question that nobody could answer. The message is one line, for
// programs; a person reads its lines.
type Unasked struct {
	rye.Question
	why string
}

func (u *Unasked) Error() string {
	about := u.Text
	if len(u.Lines) > 0 {
		var lines []string
		for _, l := range u.Lines {
			lines = append(lines, strings.Join(strings.Fields(l), " ")) // a sentence has no columns
		}
		about += " (" + words.Clip(strings.Join(lines, "; "), maxRefusal) + ")"
	}
	return u.Topic + ": " + about + ": " + u.why
}

// Laid returns the question as at a terminal, and then why nobody was asked.
func (u *Unasked) Laid() (head string, lines []string, end string) {
	if len(u.Lines) == 0 {
		return "", nil, u.Error()
	}
	return u.Topic + ": " + u.Text, u.Lines, u.Topic + ": " + u.why
}

func refusal(q rye.Question) error {
	mend := q.Mend
	if mend.IsZero() {
		mend = fault.Advice("look at it, then use --yes")
	}
	why := "it needs consent, but this is not a terminal"
	if len(q.Flags) > 0 {
		why += "; --yes is not enough, use " + strings.Join(q.Flags, " ")
	}
	return fault.New(fault.Denied, "%w", &Unasked{q, why}).With(mend)
}

// readLine reads one line from the terminal.
func (a *App) readLine(ctx context.Context) (string, error) {
	return interruptible(ctx, func() (string, error) {
		text, err := bufio.NewReader(a.Screen.In).ReadString('\n')
		if err == io.EOF {
			err = nil // the end of input means no
		}
		return text, err
	})
}

// interruptible waits for read or the end of ctx. The reading goroutine outlives a
// cancelled wait, because a terminal's read cannot be interrupted portably. The
// process then ends soon.
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

// ReadSecret asks for a line without showing it. It needs a terminal. It turns the echo
// off before the question, so that text typed ahead is not shown either.
func (a *App) ReadSecret(ctx context.Context, prompt string) ([]byte, error) {
	if !a.terminal() {
		return nil, fault.New(fault.Denied, "%s: rye cannot ask, because this is not a terminal", prompt)
	}
	Listen(ctx) // the echo must be restored after a signal
	fd := int(a.Screen.In.Fd())
	restore, err := hush(fd)
	if err != nil {
		return nil, fault.New(fault.Failed, "hide the input for %s: %w", prompt, err)
	}
	// Also after a cancelled wait, in which the reading goroutine stays.
	defer restore()
	a.Screen.Say("%s: ", prompt)
	secret, err := interruptible(ctx, func() ([]byte, error) { return term.ReadPassword(fd) })
	a.Screen.Say("\n")
	return secret, err
}
