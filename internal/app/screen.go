package app

import (
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

	mu       sync.Mutex
	out, err io.Writer
	line     int       // width of the progress line that is showing
	last     time.Time // when it was drawn
}

// NewScreen returns the Screen of a process.
func NewScreen(in, out, err *os.File) *Screen {
	s := &Screen{In: in, OutTTY: isTerminal(out), ErrTTY: isTerminal(err), InTTY: isTerminal(in), out: out, err: err}
	s.Color = s.OutTTY && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return s
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
	return (*c.w).Write(p)
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
	if silent || !s.ErrTTY {
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
		text = words.Printable(clip(text, 70))
		io.WriteString(s.err, text)
		s.line = len([]rune(text))
	}
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
