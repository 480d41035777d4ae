package llm

import "bytes"

// lineSplitter cuts bytes into lines as the WHATWG's event stream has them: LF,
// CRLF or CR alone end a line, and a byte order mark at the start is dropped.
type lineSplitter struct {
	part    []byte // of a line whose end was not seen
	started bool
	afterCR bool // an LF that comes now belongs to the CR before it
}

// feed calls line for each complete line; the slice is valid during the call. It
// stops at the first error, which may be its own when a line is too long.
func (s *lineSplitter) feed(b []byte, line func([]byte) error) error {
	for len(b) > 0 {
		if s.afterCR {
			s.afterCR = false
			if b[0] == '\n' {
				b = b[1:]
				continue
			}
		}
		i := bytes.IndexAny(b, "\r\n")
		if i < 0 {
			s.part = append(s.part, b...)
			if len(s.part) > maxLine {
				return &BodyLimitError{What: "one line of the stream", Limit: maxLine}
			}
			return nil
		}
		s.afterCR = b[i] == '\r'
		full := b[:i]
		if len(s.part) > 0 {
			s.part = append(s.part, full...)
			full = s.part
		}
		if len(full) > maxLine {
			return &BodyLimitError{What: "one line of the stream", Limit: maxLine}
		}
		err := s.emit(full, line)
		s.part = s.part[:0]
		if err != nil {
			return err
		}
		b = b[i+1:]
	}
	return nil
}

// flush hands over a last line that has no end.
func (s *lineSplitter) flush(line func([]byte) error) error {
	if len(s.part) == 0 {
		return nil
	}
	full := s.part
	s.part = nil
	return s.emit(full, line)
}

func (s *lineSplitter) emit(full []byte, line func([]byte) error) error {
	if !s.started {
		s.started = true
		full = bytes.TrimPrefix(full, []byte("\xef\xbb\xbf"))
	}
	return line(full)
}
