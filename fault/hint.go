package fault

import (
	"fmt"
	"strings"

	"github.com/rye-os/rye/internal/words"
)

// Hint is the remedy for a failure: a command to type, or advice in a few words. Each
// face shows a command in its own form, as a shell line or as a call. The zero Hint is
// no hint. Hints are comparable with ==.
type Hint struct {
	text    string // a shell line, or words
	command bool
}

// The lines of a face that prints, as formats: what failed and why, then a Hint.
const (
	ErrorLine = "rye: %s"
	HintLine  = "rye: hint: %s"
)

// Command returns a hint with a command. The words of format are the command's words.
// An argument never splits a word, so a path with a space stays one word.
func Command(format string, args ...any) Hint {
	typed := strings.Fields(format)
	for i, w := range typed {
		n := strings.Count(w, "%") - 2*strings.Count(w, "%%")
		typed[i], args = fmt.Sprintf(w, args[:n]...), args[n:]
	}
	return CommandOf(typed...)
}

// CommandOf returns a hint with the command of these words.
func CommandOf(typed ...string) Hint {
	quoted := make([]string, len(typed))
	for i, w := range typed {
		quoted[i] = quote(w)
	}
	return Hint{strings.Join(quoted, " "), true}
}

// Advice returns a hint in words, for a failure that no single command mends.
func Advice(format string, args ...any) Hint { return Hint{text: fmt.Sprintf(format, args...)} }

// IsZero reports whether h is the zero Hint.
func (h Hint) IsZero() bool { return h == Hint{} }

// IsCommand reports whether h is a command.
func (h Hint) IsCommand() bool { return h.command }

// String returns the advice, or the command as one line for a POSIX shell. A word with an
// unprintable character, such as a line feed, is written as $'…' with escapes.
func (h Hint) String() string { return h.text }

// MarshalText returns the text of String, so JSON does not distinguish commands from advice.
func (h Hint) MarshalText() ([]byte, error) { return []byte(h.text), nil }

// UnmarshalText reads the text of MarshalText as advice.
func (h *Hint) UnmarshalText(b []byte) error {
	*h = Hint{text: string(b)}
	return nil
}

// Words returns the words of a command, the program first; nil for advice.
func (h Hint) Words() []string {
	if !h.command {
		return nil
	}
	var typed []string
	for rest := h.text; rest != ""; {
		var w string
		w, rest = unquote(rest)
		typed = append(typed, w)
	}
	return typed
}

// From returns the hint for a user in another directory than dir. A rye command gets -C dir;
// every other hint stays unchanged.
func (h Hint) From(dir string) Hint {
	typed := h.Words()
	if dir == "" || len(typed) < 2 || typed[0] != "rye" || typed[1] == "-C" {
		return h
	}
	return CommandOf(append([]string{"rye", "-C", dir}, typed[1:]...)...)
}

// Encode returns h as one string that Decode reads; "" for the zero Hint.
func (h Hint) Encode() string {
	if h.command {
		return "$ " + h.text
	}
	return h.text
}

// Decode is the inverse of Encode.
func Decode(s string) Hint {
	if line, ok := strings.CutPrefix(s, "$ "); ok {
		return Hint{line, true}
	}
	return Hint{text: s}
}

// plain are the characters that a shell does not interpret.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%^"

// quote makes a shell read s as one word.
func quote(s string) string {
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	if words.Line(s) != s || strings.Contains(s, "\t") {
		return escaped(s)
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// escaped is quote for a word with unprintable characters: $'…' from POSIX.1-2024, in which
// every byte outside visible ASCII is three octal digits, except a line feed (\n).
func escaped(s string) string {
	var b strings.Builder
	b.WriteString("$'")
	for _, c := range []byte(s) {
		switch {
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

// unescaped reads a word from escaped, after its $', and returns the rest of the line.
func unescaped(line string) (word, rest string) {
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'':
			return b.String(), line[i+1:]
		case c == '\\' && i+3 < len(line) && line[i+1] >= '0' && line[i+1] <= '3':
			b.WriteByte((line[i+1]-'0')<<6 | (line[i+2]-'0')<<3 | (line[i+3] - '0'))
			i += 3
		case c == '\\' && i+1 < len(line):
			i++
			if c = line[i]; c == 'n' {
				c = '\n'
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}

// unquote reads one word from quote, and returns the rest of the line.
func unquote(line string) (word, rest string) {
	var b strings.Builder
	in := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '$' && !in && strings.HasPrefix(line[i+1:], "'"):
			word, rest := unescaped(line[i+2:])
			b.WriteString(word)
			line, i = rest, -1
		case c == '\'':
			in = !in
		case c == '\\' && !in && i+1 < len(line):
			i++
			b.WriteByte(line[i])
		case c == ' ' && !in:
			return b.String(), line[i+1:]
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}
