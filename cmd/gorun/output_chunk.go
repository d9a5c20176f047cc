package main

import "golang.org/x/sys/unix"

// chunk is output of a rank that its agent has read, bytes or the end of the stream, or
// the error that it ended with.
type chunk struct {
	source *source
	data   []byte // nil at the end
	failed bool   // data is the error of a rank
	again  bool   // that another rank has reported before
	late   bool   // the source is new
}

// addFailure adds the error that a rank ends with after its output. An error that another
// rank has reported is not shown again, unless each rank has files of its own.
func (o *output) addFailure(rank int, text string, again bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if to := o.errors[rank]; to != nil {
		o.chunks = append(o.chunks, chunk{source: to, data: []byte(text), failed: true, again: again && o.files == nil})
		o.ring()
	}
}

// moveFailure moves the error of a rank on, after what is in its pipe.
func (o *output) moveFailure(c chunk) {
	for !c.source.ended && c.source.fd >= 0 && o.read(c.source) {
	}
	if c.again {
		o.keepTail(c.source.rank, c.data)
	} else {
		o.move(c.source, c.data)
	}
}

// addRemote makes the sources of a rank that an agent runs. written is told how
// many bytes the agent may send in place of those that were written. After run, the copying goroutine
// takes them.
func (o *output) addRemote(r *rank, merged bool, written func(which stream, n int)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, which := range []stream{streamOut, streamErr} {
		if merged && which == streamErr {
			continue
		}
		s := &source{rank: r.number, which: which, fd: -1, room: newWindow()}
		s.written = func(n int) {
			s.room.give(n) // the agent gets its credit only now
			written(which, n)
		}
		if o.running {
			s.lines = newSplitter(o.layout.tag(r, which), o.holdsLines())
			o.direct(s)
			o.chunks = append(o.chunks, chunk{source: s, late: true})
			o.ring()
		} else {
			o.append(s)
		}
		r.streams[which] = s
	}
}

// feed hands over bytes of a source of an agent; none are its end. The bytes
// are the output's from now on.
func (o *output) feed(s *source, data []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.chunks = append(o.chunks, chunk{source: s, data: data}); len(o.chunks) == 1 {
		o.ring()
	}
}

// ring wakes the copying goroutine. Callers hold mu.
func (o *output) ring() {
	if !o.closed {
		_, _ = unix.Write(o.wake[1], []byte{0}) // a full pipe wakes it as well
	}
}

// takeChunks moves what agents have sent on, and reports whether no rank is left.
func (o *output) takeChunks() (finished bool) {
	var waste [64]byte
	_, _ = unix.Read(o.wake[0], waste[:])
	o.mu.Lock()
	chunks, finished := o.chunks, o.finished
	o.chunks = nil
	for _, c := range chunks {
		if c.late {
			o.adopt(c.source)
		}
	}
	o.mu.Unlock()
	for _, c := range chunks {
		switch {
		case c.late:
		case c.failed:
			o.moveFailure(c)
		case c.source.ended:
		case c.data == nil:
			o.end(c.source)
		default:
			o.move(c.source, c.data)
			c.source.written(len(c.data))
		}
	}
	return finished
}
