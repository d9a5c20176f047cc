package bootstrap

import (
	"io"
	"os"
	"sync"
)

// outlet is the queue of frames to be written to a connection. No caller waits for it: a
// peer that does not read blocks only its own outlet. The queue has one book, one notice per
// rank, one answer per fence, the decisions of agreements in which the rank has voted, and the
// revocations of any communicator of the job.
type outlet struct {
	mu     sync.Mutex // guards what follows; nothing is called under it
	conn   io.Writer  // nil while there is no connection
	queue  []parcel   // of whole frames, shared with other outlets and not written to
	flying bool       // a goroutine writes the queue
	// dropped says that nothing is written any more.
	dropped bool
}

// parcel is what is written at once.
type parcel struct {
	frames []byte
	file   *os.File // a descriptor that goes with the frames, nil for none; closed afterwards
}

// connect gives the outlet its connection and starts to write what was pushed before.
func (o *outlet) connect(conn io.Writer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.conn = conn
	o.launch()
}

// push queues whole frames, which must not be changed afterwards.
func (o *outlet) push(frames []byte) { o.pushWith(frames, nil) }

// pushWith queues frames with a descriptor, which is the outlet's from now on; nil for none.
func (o *outlet) pushWith(frames []byte, file *os.File) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.dropped {
		parcel{file: file}.release()
		return
	}
	o.queue = append(o.queue, parcel{frames, file})
	o.launch()
}

// release closes the descriptor of a parcel that was written, or will not be.
func (p parcel) release() {
	if p.file != nil {
		_ = p.file.Close() // a copy of a descriptor of a memfd
	}
}

// drop removes the connection and the queue; later pushes are ignored.
func (o *outlet) drop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.queue {
		p.release()
	}
	o.conn, o.queue, o.dropped = nil, nil, true
}

// launch starts the writer if there is something to write. Callers hold mu.
func (o *outlet) launch() {
	if o.conn == nil || o.flying || len(o.queue) == 0 {
		return
	}
	o.flying = true
	go o.write(o.conn)
}

func (o *outlet) write(conn io.Writer) {
	for {
		o.mu.Lock()
		queue := o.queue
		o.queue = nil
		if len(queue) == 0 {
			o.flying = false
			o.mu.Unlock()
			return
		}
		o.mu.Unlock()
		for _, p := range queue {
			// The reader of the connection detects a peer that is gone.
			if p.file == nil {
				_, _ = conn.Write(p.frames)
			} else {
				_ = pass(conn, p.frames, p.file)
			}
			p.release()
		}
	}
}
