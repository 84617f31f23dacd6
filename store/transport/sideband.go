package transport

import (
	"io"
	"strings"

	"github.com/rye-os/rye/fault"
)

// The bands that a server multiplexes into the packets of a pack.
const (
	bandData     = 1
	bandProgress = 2
	bandError    = 3
)

// demux reads the data band of a multiplexed stream up to its flush packet. It passes progress
// texts to a callback and turns the error band into an error.
type demux struct {
	p        *pktReader
	progress func(string) // receives cleaned texts
	words    func(string) // if not nil, receives the raw texts instead
	rest     []byte       // unread part of the last packet
	total    int64        // bytes of all bands so far
	limit    int64        // on total; a server must not send progress for ever
	err      error        // sticky
}

func (d *demux) Read(b []byte) (int, error) {
	for len(d.rest) == 0 {
		if d.err == nil {
			d.err = d.fill()
		}
		if d.err != nil {
			return 0, d.err
		}
	}
	n := copy(b, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

func (d *demux) fill() error {
	kind, data, err := d.p.next()
	switch {
	case err == io.EOF:
		return io.ErrUnexpectedEOF // a complete answer ends with a flush
	case err != nil:
		return err
	case kind == pktFlush:
		return io.EOF
	case kind != pktData || len(data) == 0:
		return fault.New(fault.Network, "read pack from remote: packet without a band")
	}
	d.total += int64(len(data)) + 4
	if d.total > d.limit {
		return fault.New(fault.Limit, "read pack from remote: more than %d bytes", d.limit)
	}
	switch data[0] {
	case bandData:
		d.rest = data[1:]
	case bandProgress:
		if d.words != nil {
			d.words(string(data[1:]))
		} else if d.progress != nil {
			d.progress(cleanText(string(data[1:])))
		}
	case bandError:
		return remoteError(string(data[1:]))
	default:
		if text, ok := strings.CutPrefix(string(data), "ERR "); ok {
			return remoteError(text)
		}
		return fault.New(fault.Network, "read pack from remote: unknown band %d", data[0])
	}
	return nil
}

// bandWriter multiplexes its data into one band.
type bandWriter struct {
	p    *pktWriter
	band byte
}

func (b *bandWriter) Write(data []byte) (int, error) {
	n := 0
	for len(data) > 0 {
		part := data[:min(len(data), pktPayload-1)]
		b.p.data(append([]byte{b.band}, part...))
		if b.p.err != nil {
			return n, b.p.err
		}
		n += len(part)
		data = data[len(part):]
	}
	return n, nil
}
