package fault

import (
	"fmt"
	"strings"
)

// Hint says how to mend a failure: a command to type, or advice in a few words. A
// face shows a command in its own way, as a shell line or as a call. The zero Hint
// says nothing. Hints are compared with ==.
type Hint struct {
	text    string // a shell line, or words
	command bool
}

// Command returns the hint to type a command. The words of the format are the
// command's words; an argument never splits one, so a path with a space in it stays
// whole.
func Command(format string, args ...any) Hint {
	words := strings.Fields(format)
	for i, w := range words {
		n := strings.Count(w, "%") - 2*strings.Count(w, "%%")
		words[i], args = fmt.Sprintf(w, args[:n]...), args[n:]
	}
	return CommandOf(words...)
}

// CommandOf returns the hint to type the command with these words.
func CommandOf(words ...string) Hint {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return Hint{strings.Join(quoted, " "), true}
}

// Advice returns a hint in words, for what no one command mends.
func Advice(format string, args ...any) Hint { return Hint{text: fmt.Sprintf(format, args...)} }

// IsZero reports whether h says nothing.
func (h Hint) IsZero() bool { return h == Hint{} }

// IsCommand reports whether h is a command.
func (h Hint) IsCommand() bool { return h.command }

// String returns the advice, or the command as a line for a POSIX shell.
func (h Hint) String() string { return h.text }

// MarshalText writes what String returns, so JSON does not tell commands from advice.
func (h Hint) MarshalText() ([]byte, error) { return []byte(h.text), nil }

// UnmarshalText reads what MarshalText wrote, as advice.
func (h *Hint) UnmarshalText(b []byte) error {
	*h = Hint{text: string(b)}
	return nil
}

// Words returns the words of a command, the program first; nil for advice.
func (h Hint) Words() []string {
	if !h.command {
		return nil
	}
	var words []string
	for rest := h.text; rest != ""; {
		var w string
		w, rest = unquote(rest)
		words = append(words, w)
	}
	return words
}

// From returns the hint for who types it in another directory than dir, which it is about:
// a command of rye is told where. What it says otherwise stays.
func (h Hint) From(dir string) Hint {
	words := h.Words()
	if dir == "" || len(words) < 2 || words[0] != "rye" || words[1] == "-C" {
		return h
	}
	return CommandOf(append([]string{"rye", "-C", dir}, words[1:]...)...)
}

// Encode returns h as one string that Decode reads; "" for the zero Hint.
func (h Hint) Encode() string {
	if h.command {
		return "$ " + h.text
	}
	return h.text
}

// Decode reads what Encode wrote.
func Decode(s string) Hint {
	if line, ok := strings.CutPrefix(s, "$ "); ok {
		return Hint{line, true}
	}
	return Hint{text: s}
}

// plain are the characters that a shell takes as they are.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%^"

// quote makes a shell read s as one word.
func quote(s string) string {
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// unquote reads one word that quote wrote, and returns what follows it.
func unquote(line string) (word, rest string) {
	var b strings.Builder
	in := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
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
