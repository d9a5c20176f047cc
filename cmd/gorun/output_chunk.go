package main

import "golang.org/x/sys/unix"

// chunk is a message to the copying goroutine: bytes that an agent has sent, the end of a stream, the error with
// which a rank ended, a new source, or a new process of a rank.
type chunk struct {
	source *source
	data   []byte // nil at the end of a stream
	failed bool   // data is the error with which the rank ended
	again  bool   // failed is true, and data is not written, because another rank has reported the same error
	late   bool   // the chunk announces a new source and has no data
	// next is the process whose output follows, if an agent has started a rank again. The chunk has no source.
	next *origin
}

// addFailure adds the error with which a rank ended. The copying goroutine writes the error after the rank's
// output. If another rank has reported the same error, the error is written only if each rank has files of
// its own.
func (o *output) addFailure(rank int, text string, again bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if to := o.errors[rank]; to != nil {
		o.chunks = append(o.chunks, chunk{source: to, data: []byte(text), failed: true, again: again && o.files == nil})
		o.ring()
	}
}

// moveFailure writes the error of a rank, after the output that is still in its pipe. If c.again is true, the error
// is only kept for the report of the rank's failure.
func (o *output) moveFailure(c chunk) {
	o.readPresent(c.source)
	if c.again {
		o.keepTail(c.source.rank, c.data)
	} else {
		o.move(c.source, c.data)
	}
}

// addRemote makes the sources of a rank that an agent runs. The copying goroutine calls written with the
// number of bytes that it has written to the destination. written gives the agent as many bytes of credit.
func (o *output) addRemote(r *rank, merged bool, written func(which stream, n int)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, which := range []stream{streamOut, streamErr} {
		if merged && which == streamErr {
			continue
		}
		s := &source{rank: r.number, which: which, fd: -1, from: r.origin(), room: newWindow()}
		s.written = func(n int) {
			s.room.give(n) // before the call of written, because the agent sends more as soon as it has the credit
			written(which, n)
		}
		o.introduce(s)
		r.streams[which] = s
	}
}

// announce tells the copying goroutine which process has become a rank on a host. It is called before output of the
// process is fed. If the agent still has output of the former process, this output gets the tags of the new one.
func (o *output) announce(rank int, host string, pid int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.chunks = append(o.chunks, chunk{next: &origin{rank: rank, host: host, pid: pid}})
	o.ring()
}

// rename sets the tags of a rank's output for the process that has become the rank. It first ends an incomplete line
// of the former process.
func (o *output) rename(next *origin) {
	if !o.layout.tagged() {
		return
	}
	for _, s := range o.sources {
		if s.rank == next.rank && s.written != nil && !s.ended {
			o.write(s, s.lines.end())
			s.from.host, s.from.pid = next.host, next.pid
			s.lines.tag = o.layout.tag(s.from, s.which)
		}
	}
}

// feed passes data, which an agent has sent for the source s, to the copying goroutine. If data is nil, the stream
// ends. The output owns data from now on.
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
		_, _ = unix.Write(o.wake[1], []byte{0}) // if the pipe is full, the copying goroutine will wake in any case
	}
}

// takeChunks acts on the chunks that have been queued, and reports whether no rank is left.
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
		case c.next != nil:
			o.rename(c.next)
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
