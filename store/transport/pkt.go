package transport

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/rye-os/rye/fault"
)

// The framing of git's wire protocol: four hexadecimal digits with the length of themselves
// and the payload, or one of three marks. go-git's pktline refuses the delimiter that version
// 2 needs, and prints packets if GIT_TRACE_PACKET is set, so these few lines are ours.
const (
	pktMax     = 65520 // longest packet, its four length digits included ("LARGE_PACKET_MAX" in git)
	pktPayload = pktMax - 4
)

type pktKind uint8

const (
	pktData  pktKind = iota // a payload, possibly empty
	pktFlush                // 0000: the end of a message
	pktDelim                // 0001: the end of a section of a message
	pktEnd                  // 0002: the end of a response on a stateless connection
)

// errPktLength is the error for a packet with an invalid length.
var errPktLength = errors.New("packet length is not four lower-case hexadecimal digits within the bounds")

// pktReader reads packets from r. It reads no further than the packet that it returns, except
// into the buffer of r, so that later data can be read from r itself.
type pktReader struct {
	r   *bufio.Reader
	buf []byte
}

func newPktReader(r io.Reader) *pktReader {
	if br, ok := r.(*bufio.Reader); ok {
		return &pktReader{r: br}
	}
	return &pktReader{r: bufio.NewReaderSize(r, 32<<10)}
}

// next returns the next packet. The payload is valid until the following call.
// io.EOF means that the stream ended between packets.
func (p *pktReader) next() (pktKind, []byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(p.r, head[:]); err != nil {
		return 0, nil, err
	}
	n, err := pktLength(head)
	if err != nil {
		return 0, nil, err
	}
	if n < 4 {
		return pktKind(n + 1), nil, nil
	}
	n -= 4
	if cap(p.buf) < n {
		p.buf = make([]byte, n, max(n, 1024))
	}
	p.buf = p.buf[:n]
	if _, err := io.ReadFull(p.r, p.buf); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	return pktData, p.buf, nil
}

// pktLength decodes the digits: 0, 1, 2 for the marks, otherwise the whole length.
func pktLength(head [4]byte) (int, error) {
	n := 0
	for _, c := range head {
		switch {
		case '0' <= c && c <= '9':
			n = n<<4 | int(c-'0')
		case 'a' <= c && c <= 'f':
			n = n<<4 | int(c-'a'+10)
		default:
			return 0, fmt.Errorf("%w: %q", errPktLength, head[:])
		}
	}
	if n == 3 || n > pktMax {
		return 0, fmt.Errorf("%w: %q", errPktLength, head[:])
	}
	return n, nil
}

// line returns the next packet as a line of text, without its final LF. An "ERR " line, with
// which a server refuses, becomes an error.
func (p *pktReader) line() (pktKind, string, error) {
	kind, data, err := p.next()
	if err != nil || kind != pktData {
		return kind, "", err
	}
	data = bytes.TrimSuffix(data, []byte("\n"))
	if text, ok := bytes.CutPrefix(data, []byte("ERR ")); ok {
		return 0, "", remoteError(string(text))
	}
	return pktData, string(data), nil
}

// list passes the lines of a list to take, up to the packet end. More than most lines, or
// another packet, give the error malformed.
func (p *pktReader) list(end pktKind, most int, malformed error, take func(line string) error) error {
	for n := 0; ; n++ {
		kind, line, err := p.line()
		switch {
		case err != nil:
			return err
		case kind == end:
			return nil
		case kind != pktData || n > most:
			return malformed
		}
		if err := take(line); err != nil {
			return err
		}
	}
}

// pktWriter writes packets to w and keeps the first error.
type pktWriter struct {
	w   io.Writer
	err error
}

func (p *pktWriter) write(b []byte) {
	if p.err == nil {
		_, p.err = p.w.Write(b)
	}
}

// data writes one packet; the payload must not be longer than pktPayload.
func (p *pktWriter) data(payload []byte) {
	if len(payload) > pktPayload {
		if p.err == nil {
			p.err = fault.New(fault.Limit, "write packet: %d bytes, at most %d", len(payload), pktPayload)
		}
		return
	}
	p.write(fmt.Appendf(make([]byte, 0, len(payload)+4), "%04x%s", len(payload)+4, payload))
}

// linef writes one packet of text with a final LF.
func (p *pktWriter) linef(format string, args ...any) {
	p.data(append(fmt.Appendf(nil, format, args...), '\n'))
}

func (p *pktWriter) flush() { p.write([]byte("0000")) }
func (p *pktWriter) delim() { p.write([]byte("0001")) }
