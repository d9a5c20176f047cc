package main

import (
	"bytes"
	"time"
)

const (
	// partialDelay is how long the start of a line is held back after it has last grown.
	partialDelay = 100 * time.Millisecond
	// partialAgeMax is how long the start of a line is held back at most.
	partialAgeMax = time.Second
	// While other streams write, the start of a line is held back until crowdDelay after their last write, but at
	// most for crowdAgeMax. These times are longer because, on a machine with more ranks than processors, a rank
	// may have to wait for a processor in the middle of a line.
	crowdDelay  = time.Second
	crowdAgeMax = 10 * time.Second
	// lineBytesMax is how many bytes of a line are held back. A longer line is written in pieces.
	lineBytesMax = 1 << 20
	// continued is a mark in tagged output. It ends the written part of a line if the rest of the line
	// follows later.
	continued = "\\\n"
)

// splitter cuts one stream into whole lines and tags them. It does no input or output, and the
// caller passes the time.
//
// Without a tag the output consists of exactly the bytes of the input.
type splitter struct {
	tag   func(dst []byte, now time.Time) []byte // nil without tags
	hold  bool                                   // whether starts of lines are held back
	held  []byte                                 // the start of a line, held back
	since time.Time                              // when held became non-empty
	last  time.Time                              // when held last grew
	stall time.Duration                          // how long gorun has not read the stream since the time in since
	out   []byte                                 // reused for results
}

// newSplitter returns a splitter. The function tag appends the tag with which a line starts.
func newSplitter(tag func([]byte, time.Time) []byte, hold bool) *splitter {
	return &splitter{tag: tag, hold: hold}
}

// pending reports whether the start of a line is held back.
func (s *splitter) pending() bool { return len(s.held) > 0 }

// due returns the time at which the start of a line has to be written. The start of a line is due if it has
// not grown for a while, like a prompt, or if it grows slowly, like a row of dots.
func (s *splitter) due() time.Time {
	quiet, old := s.last.Add(partialDelay), s.since.Add(s.stall+partialAgeMax)
	if old.Before(quiet) {
		return old
	}
	return quiet
}

// dueAmong returns the time at which the start of a line has to be written if other streams write, too. others is
// the time of their last write. The start of a line would mix with the lines of the other streams. It therefore
// waits until the other streams are quiet, but at most crowdAgeMax.
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

// stalled records that gorun has not read the stream for d. This time does not count as silence of the
// writer.
func (s *splitter) stalled(d time.Duration) {
	s.last, s.stall = s.last.Add(d), s.stall+d
}

// feed takes bytes of the stream and returns the bytes that may be written now. The result is valid
// until the next call, and may be data itself.
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

// flush returns the start of a line that has been held back long enough.
func (s *splitter) flush() []byte {
	s.out = s.out[:0]
	s.partial(s.since)
	return s.out
}

// end returns the bytes that are held back when the stream ends. A tagged line without a newline gets one,
// because the next tag must start a line.
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

// lines appends whole lines to out. If the start of a line is held back, the first of the whole lines continues it.
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

// partial appends the held start of a line to out. If there are tags, it also appends continued.
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
