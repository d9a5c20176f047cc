package main

import (
	"bytes"
	"time"
)

const (
	// partialDelay is how long the start of a line waits for more of it.
	partialDelay = 100 * time.Millisecond
	// partialAgeMax is how long it waits for its end.
	partialAgeMax = time.Second
	// crowdDelay and crowdAgeMax take the place of partialDelay and partialAgeMax where other
	// ranks write: on a crowded machine a rank may wait in the midst of a line for its turn.
	crowdDelay  = time.Second
	crowdAgeMax = 10 * time.Second
	// lineBytesMax is how much of a line is held back. A longer line is
	// written in pieces.
	lineBytesMax = 1 << 20
	// continued marks, on tagged output, a line that continues in a later one.
	continued = "\\\n"
)

// splitter cuts one stream into whole lines and tags them. It is pure: bytes
// in, bytes out, and the time is given.
//
// Without a tag the output has exactly the bytes of the input.
type splitter struct {
	tag   func(dst []byte, now time.Time) []byte // nil without tags
	hold  bool                                   // hold back starts of lines
	held  []byte                                 // the start of a line
	since time.Time                              // when held became non-empty
	last  time.Time                              // when held grew
	stall time.Duration                          // since then the stream was not looked at for so long
	out   []byte                                 // reused for results
}

// newSplitter returns a splitter that starts lines with what tag appends.
func newSplitter(tag func([]byte, time.Time) []byte, hold bool) *splitter {
	return &splitter{tag: tag, hold: hold}
}

// pending reports whether the start of a line is held back.
func (s *splitter) pending() bool { return len(s.held) > 0 }

// due returns when the start of a line has waited long enough: it has not
// grown for a while, as a prompt, or it grows slowly, as a row of dots.
func (s *splitter) due() time.Time {
	quiet, old := s.last.Add(partialDelay), s.since.Add(s.stall+partialAgeMax)
	if old.Before(quiet) {
		return old
	}
	return quiet
}

// dueAmong is due where other streams have last written at a time, with which the line would
// mix: it waits until they are quiet, too.
func (s *splitter) dueAmong(others time.Time) time.Time {
	due, quiet, old := s.due(), others.Add(crowdDelay), s.since.Add(s.stall+crowdAgeMax)
	switch {
	case quiet.Before(due):
		return due
	case old.Before(quiet):
		return old
	default:
		return quiet
	}
}

// stalled says that the stream was not looked at for a time, which is no silence of its writer.
func (s *splitter) stalled(d time.Duration) {
	s.last, s.stall = s.last.Add(d), s.stall+d
}

// feed takes bytes of the stream and returns what may be written now. The
// result is valid until the next call and may be data itself.
func (s *splitter) feed(data []byte, now time.Time) []byte {
	if s.tag == nil && (!s.hold || (len(s.held) == 0 && data[len(data)-1] == '\n')) {
		return data
	}
	s.out = s.out[:0]
	end := bytes.LastIndexByte(data, '\n') + 1
	if end > 0 {
		s.lines(data[:end], now)
	}
	if rest := data[end:]; len(rest) > 0 {
		if len(s.held) == 0 {
			s.since, s.stall = now, 0
		}
		s.held, s.last = append(s.held, rest...), now
		if len(s.held) >= lineBytesMax {
			s.partial(now)
		}
	}
	return s.out
}

// flush returns the start of a line that has waited long enough.
func (s *splitter) flush() []byte {
	s.out = s.out[:0]
	s.partial(s.since)
	return s.out
}

// end returns what is left at the end of the stream. A tagged line gets the
// newline it lacks, because the next tag must start a line.
func (s *splitter) end() []byte {
	s.out = s.out[:0]
	if len(s.held) == 0 {
		return nil
	}
	if s.tag == nil {
		s.out = append(s.out, s.held...)
	} else {
		s.out = append(s.tag(s.out, s.since), s.held...)
		s.out = append(s.out, '\n')
	}
	s.held = nil
	return s.out
}

// lines appends whole lines to out; the first continues what is held.
func (s *splitter) lines(data []byte, now time.Time) {
	if s.tag == nil {
		s.out = append(append(s.out, s.held...), data...)
		s.drop()
		return
	}
	for line := range bytes.Lines(data) {
		at := now
		if len(s.held) > 0 {
			at = s.since
		}
		s.out = s.tag(s.out, at)
		s.out = append(append(s.out, s.held...), line...)
		s.drop()
	}
}

// partial appends what is held to out, marked if there are tags.
func (s *splitter) partial(now time.Time) {
	if s.tag == nil {
		s.out = append(s.out, s.held...)
	} else {
		s.out = append(s.tag(s.out, now), s.held...)
		s.out = append(s.out, continued...)
	}
	s.drop()
}

// drop empties held and frees the memory of an unusually long line.
func (s *splitter) drop() {
	if cap(s.held) > outputBufferBytes {
		s.held = nil
	}
	s.held = s.held[:0]
}
