package provider

import "bytes"

// maxEvent is how large one event of a stream may be, in bytes.
const maxEvent = 16 << 20

// sse reads server-sent events as the HTML standard defines them (9.2.6), however the bytes
// are cut, with one difference: what stands before the end of the stream is an event even
// where its empty line is missing, because some servers leave it out after their last word.
// An event that was cut off is no JSON, so nothing is taken for whole that is not.
type sse struct {
	emit func(data []byte) error // data is good until it returns

	line []byte
	past bool // the byte order mark
	cr   bool // the last byte was a CR, so that an LF belongs to it
	data []byte
	some bool // data had a line, which may be empty
}

func (s *sse) write(p []byte) error {
	for len(p) > 0 {
		if s.cr {
			s.cr = false
			if p[0] == '\n' {
				p = p[1:]
				continue
			}
		}
		i := bytes.IndexAny(p, "\r\n")
		piece := p
		if i >= 0 {
			piece = p[:i]
		}
		if len(s.line)+len(piece)+len(s.data) > maxEvent {
			return beyond("an event of more than %d bytes", maxEvent)
		}
		if i < 0 {
			s.line = append(s.line, piece...)
			return nil
		}
		s.cr = p[i] == '\r'
		p = p[i+1:]
		line := piece
		if len(s.line) > 0 {
			s.line = append(s.line, piece...)
			line = s.line
		}
		err := s.take(line)
		s.line = s.line[:0]
		if err != nil {
			return err
		}
	}
	return nil
}

// end takes what the stream ended with.
func (s *sse) end() error {
	if err := s.take(s.line); err != nil {
		return err
	}
	s.line = nil
	return s.dispatch()
}

// take interprets one line. Names, ids and times of events say nothing that the data of
// both formats does not say itself.
func (s *sse) take(line []byte) error {
	if !s.past {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		s.past = true
	}
	if len(line) == 0 {
		return s.dispatch()
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	if string(field) != "data" {
		return nil
	}
	if s.some {
		s.data = append(s.data, '\n')
	}
	s.data, s.some = append(s.data, bytes.TrimPrefix(value, []byte(" "))...), true
	return nil
}

func (s *sse) dispatch() error {
	data, some := s.data, s.some
	s.data, s.some = s.data[:0], false
	if !some || len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	return s.emit(data)
}
