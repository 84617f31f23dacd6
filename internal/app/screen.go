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

// Screen is where a run speaks: results to Out, everything else to Err. It owns
// the progress line, which is wiped before anything else appears. It is safe
// for concurrent use.
type Screen struct {
	In     *os.File
	OutTTY bool // Out is a terminal
	ErrTTY bool
	InTTY  bool
	Color  bool // Out is a terminal that wants colour: NO_COLOR is unset

	Columns    int  // of Out; 0 where it is no terminal, or does not say
	ErrColumns int  // of Err
	dumb       bool // the terminal cannot go back in a line

	mu       sync.Mutex
	out, err io.Writer
	line     int       // width of the progress line that is showing
	last     time.Time // when it was drawn
	spoke    bool      // something else than progress was shown
}

// NewScreen returns the Screen of a process.
func NewScreen(in, out, err *os.File) *Screen {
	s := &Screen{In: in, OutTTY: isTerminal(out), ErrTTY: isTerminal(err), InTTY: isTerminal(in), out: out, err: err}
	s.dumb = os.Getenv("TERM") == "dumb"
	s.Color = s.OutTTY && os.Getenv("NO_COLOR") == "" && !s.dumb
	s.Columns, s.ErrColumns = columns(out, s.OutTTY), columns(err, s.ErrTTY)
	return s
}

// columns is how wide a terminal is: at least twenty, for less leaves no room for words.
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

// Say writes a message. The format is a constant, and alone makes lines: texts are shown as
// words.Line has them.
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

// progressFunc returns the function that draws progress, or nil where it would not be seen.
func (s *Screen) progressFunc(silent bool) func(string) {
	if silent || !s.ErrTTY || s.dumb {
		return nil
	}
	return s.progress
}

// progressEvery keeps a fast loop from spending its time on the terminal.
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

// quietFor is for how long a command may show nothing before it says that it works.
var quietFor = 600 * time.Millisecond

// Working says, on a terminal, what is being done while nothing else is shown, until stop is
// called. It is for work that asks nobody and starts no other program: those would be
// overwritten.
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

// silent reports whether nothing was shown yet, and no progress is.
func (s *Screen) silent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.spoke && time.Since(s.last) > quietFor/2
}

// progressWidth keeps the line in one row: what ran over into the next could not be wiped.
func (s *Screen) progressWidth() int {
	if s.ErrColumns == 0 {
		return 70
	}
	return min(70, s.ErrColumns-1)
}

// isTerminal asks for the terminal's settings: unlike the mode bits, which also
// call /dev/null a character device, only a terminal has them.
func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-3]) + "..."
	}
	return s
}
