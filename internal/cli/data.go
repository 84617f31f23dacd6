package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/app"
	"github.com/rye-os/rye/internal/words"
)

// The methods here write data: a program that reads from a pipe or a file gets it byte for byte.
// On a terminal it is escaped. All other output is lines from printf and errorf.

// object writes one line of JSON. On a terminal it writes control characters as JSON
// escapes, which do not change the meaning.
func (p *printer) object(v any) error {
	showing(v)
	line, err := encode(v)
	if err != nil {
		return err
	}
	if p.tty {
		line = words.JSON(line)
	}
	p.out.Write(line)
	return nil
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fault.New(fault.Failed, "encode the result: %w", err)
	}
	return b.Bytes(), nil
}

// content writes an item's text: byte for byte, or escaped on a terminal.
func (p *printer) content(text string) {
	if !p.tty {
		p.out.WriteString(text)
		return
	}
	text = words.Printable(text)
	p.out.WriteString(text)
	if !strings.HasSuffix(text, "\n") {
		p.out.WriteByte('\n')
	}
}

// stream returns the unbuffered writer for a running tool's standard output.
func (p *printer) stream() io.Writer {
	if p.tty {
		return app.PrintableWriter(unbuffered{p.out})
	}
	return unbuffered{p.out}
}

// streamErr is stream for a tool's standard error.
func (p *printer) streamErr() io.Writer {
	if p.errs {
		return app.PrintableWriter(p.err)
	}
	return p.err
}

type unbuffered struct{ w *bufio.Writer }

func (u unbuffered) Write(b []byte) (int, error) {
	n, err := u.w.Write(b)
	if err == nil {
		err = u.w.Flush()
	}
	return n, err
}
