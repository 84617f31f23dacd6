package app

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rye-os/rye/internal/words"
	"golang.org/x/term"
)

// Screen is the output of a run: results to Out, everything else to Err. It owns the
// progress line, and wipes it before anything else appears. It is safe for concurrent
// use.
type Screen struct {
	In     *os.File
	OutTTY bool // Out is a terminal
	ErrTTY bool
	InTTY  bool
	Color  bool // Out is a terminal that wants colour: NO_COLOR is unset

	Columns    int  // of Out; 0 when it is not a terminal, or unknown
	ErrColumns int  // of Err
	dumb       bool // the terminal cannot move back in a line

	mu       sync.Mutex
	out, err io.Writer
	line     int       // width of the visible progress line
	last     time.Time // when it was drawn
	spoke    bool      // the run has shown anything except progress
}

// NewScreen returns the Screen of a process.
func NewScreen(in, out, err *os.File) *Screen {
	s := &Screen{In: in, OutTTY: isTerminal(out), ErrTTY: isTerminal(err), InTTY: isTerminal(in), out: out, err: err}
	s.dumb = os.Getenv("TERM") == "dumb"
	s.Color = s.OutTTY && os.Getenv("NO_COLOR") == "" && !s.dumb
	s.Columns, s.ErrColumns = columns(out, s.OutTTY), columns(err, s.ErrTTY)
	return s
}

// columns returns the width of a terminal, at least twenty, because less leaves no room for
// words; 0 when it is not known.
func columns(f *os.File, tty bool) int {
	if !tty {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 0
	}
	return max(width, 20)
}

// Out returns the writer for results.
func (s *Screen) Out() io.Writer { return channel{s, &s.out} }

// Err returns the writer for messages.
func (s *Screen) Err() io.Writer { return channel{s, &s.err} }

type channel struct {
	s *Screen
	w *io.Writer
}

func (c channel) Write(p []byte) (int, error) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.wipe()
	c.s.spoke = true
	return (*c.w).Write(p)
}

// Say writes a message. The format is a constant, and only it can contain line feeds: texts
// are shown by words.Line.
func (s *Screen) Say(format string, texts ...string) {
	shown := make([]any, len(texts))
	for i, t := range texts {
		shown[i] = words.Line(t)
	}
	fmt.Fprintf(s.Err(), format, shown...)
}

// Done wipes the progress line.
func (s *Screen) Done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
}

func (s *Screen) wipe() {
	if s.line > 0 {
		io.WriteString(s.err, "\r"+strings.Repeat(" ", s.line)+"\r")
		s.line = 0
	}
}

// progressFunc returns the function that draws progress, or nil when it would not be visible.
func (s *Screen) progressFunc(silent bool) func(string) {
	if silent || !s.ErrTTY || s.dumb {
		return nil
	}
	return s.progress
}

// progressEvery is the time between two updates, so that a fast loop is not slowed down.
const progressEvery = 50 * time.Millisecond

func (s *Screen) progress(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.last) >= progressEvery {
		s.last = now
		s.wipe()
		text = clip(words.Line(text), s.progressWidth())
		io.WriteString(s.err, text)
		s.line = words.Width(text)
	}
}

// quietFor is how long a command may show nothing before Working shows its text.
var quietFor = 600 * time.Millisecond

// Working shows text on a terminal, while nothing else is shown, until stop is called. It is
// only for work that asks no questions and starts no other programs, because it would overwrite
// their output.
func (s *Screen) Working(text string) (stop func()) {
	draw := s.progressFunc(false)
	if draw == nil {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		begun := time.Now()
		for tick := time.NewTicker(quietFor); ; {
			select {
			case <-done:
				tick.Stop()
				return
			case now := <-tick.C:
				if s.silent() {
					draw(fmt.Sprintf("%s: working, %d s", text, int(now.Sub(begun).Seconds())))
				}
			}
		}
	}()
	return func() { close(done); <-ended; s.Done() }
}

// silent reports whether nothing has been shown yet, and no recent progress.
func (s *Screen) silent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.spoke && time.Since(s.last) > quietFor/2
}

// progressWidth is the greatest width of the line. It keeps the line in one row, because a
// second row could not be wiped.
func (s *Screen) progressWidth() int {
	if s.ErrColumns == 0 {
		return 70
	}
	return min(70, s.ErrColumns-1)
}

// isTerminal reports whether f has the settings of a terminal. The mode bits are no
// test, because /dev/null is a character device, too.
func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-3]) + "..."
	}
	return s
}
