package objects

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/rye-os/rye/fault"
)

// Bounds on text from outside. They are checked before anything else.
const (
	MaxItemSize = 8 << 20   // bytes of one item's file
	MaxMetaSize = 256 << 10 // bytes of the part that is metadata
	MaxDepth    = 64        // nesting of YAML, JSON, XML and Python literals
)

// SyntaxError is a place in a file that breaks its format. It comes wrapped in a
// fault.Error with the code Malformed; faces use its fields to point at the place.
type SyntaxError struct {
	Path   string // slash path below .ai, or a name for the text; "" when unknown
	Line   int    // 1-based; 0 when the whole file is meant
	Column int    // 1-based, in bytes; 0 when the whole line is meant
	Msg    string
}

// Error returns "path:line:column: message" without the unknown parts.
func (e *SyntaxError) Error() string {
	at := e.Path
	if e.Line > 0 {
		if at == "" {
			at = "line "
		} else {
			at += ":"
		}
		at += fmt.Sprint(e.Line)
		if e.Column > 0 {
			at += fmt.Sprintf(":%d", e.Column)
		}
	}
	if at == "" {
		return e.Msg
	}
	return at + ": " + e.Msg
}

// malformed returns a SyntaxError with the code that faces expect.
func malformed(path string, line, column int, format string, args ...any) *fault.Error {
	e := &SyntaxError{Path: path, Line: line, Column: column, Msg: fmt.Sprintf(format, args...)}
	err := fault.New(fault.Malformed, "%w", e)
	if mend := mendOf(e.Msg); mend != "" {
		err = err.Advise("%s", mend)
	}
	return err
}

// mends maps a part of a message to the text to write instead. A message that already
// has it ("want ...", "write ...") needs none. The code that makes the error may give
// better advice.
var mends = []struct{ holds, mend string }{
	{"cannot start any token", "indent with spaces, never tabs; put quotes around a value that begins with @, % or a backquote"},
	{"mapping values are not allowed", `put quotes around a value that holds ": "`},
	{"did not find expected", "close the bracket or quote, and indent with spaces"},
	{"could not find expected ':'", "write name: value, each on a line of its own"},
	{"front matter that begins", "add a line --- below the metadata"},
	{"fence that never ends", "add a line ``` below the metadata"},
	{"closes nothing", "close the element that was opened last first"},
	{"is never closed", "close it, or delete it"},
	{"does not end in its line", "end the string with the quote that it began with"},
	{"never ends", "close it as it was opened"},
	{"begins no entity", "write &amp; for & and &lt; for <"},
	{"begins no element", "write &lt; for <"},
	{"unknown entity", "write the character itself"},
	{"declarations are not allowed", "delete it"},
	{"a value in quotation marks", `write name="value"`},
	{"an <input> without a name", `write <input name="...">`},
	{"text after </directive>", "move it below the closing fence"},
	{"is given twice", "delete one of the two"},
	{"is assigned twice", "delete one of the two"},
	{"must be a literal", "write the value itself: rye reads it and never runs it"},
	{"an anchor", "write the value out where it is used"},
	{"an alias", "write the value out"},
	{"a merge key", "write the values out"},
	{"a tag (", "delete the tag"},
	{"a second YAML document", "delete the text after the second ---"},
	{"not a plain value", "write the name as plain text"},
	{"not a mapping of names", "write name: value, each on a line of its own"},
	{"metadata is not an object", "write the names and values between { and }"},
	{"is not UTF-8 text", "save the file as UTF-8"},
	{"invisible character", "delete the character"},
	{"control character", "delete the character"},
	{"is a Markdown file", "rename it to end in .md"},
	{"is Markdown (.md) or YAML", "rename it to end in .md"},
	{"a config item is YAML", "rename it to end in .yaml"},
}

func mendOf(msg string) string {
	for _, m := range mends {
		if strings.Contains(msg, m.holds) {
			return m.mend
		}
	}
	return ""
}

// mark is a place in a file; the zero value is an unknown place.
type mark struct{ line, col int }

// markOf returns the place of the byte at off. Lines end with LF.
func markOf(raw []byte, off int) mark {
	head := raw[:max(0, min(off, len(raw)))]
	return mark{1 + bytes.Count(head, []byte{'\n'}), len(head) - bytes.LastIndexByte(head, '\n')}
}
