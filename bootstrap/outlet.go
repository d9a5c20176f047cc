package bootstrap

import (
	"io"
	"os"
	"sync"
)

// outlet is the queue of frames to be written to a connection. push does not wait for the connection. For this
// reason, a peer that does not read blocks only its own outlet. In each generation, the queue gets at most one
// renew frame, one book, one notice per lost rank, one answer per fence, dumps, and the order to end. It also gets
// the decisions of the rank's communicators and the revocations of all communicators of the job.
type outlet struct {
	mu     sync.Mutex // guards the fields below; not held during writes
	conn   io.Writer  // nil while there is no connection
	queue  []parcel   // other outlets may share the frames, which must not be changed
	flying bool       // a goroutine is writing the queue
	// dropped is true after drop. Frames that are pushed later are discarded.
	dropped bool
}

// parcel is one or several frames that are written at once.
type parcel struct {
	frames []byte
	file   *os.File // file whose descriptor is passed with the frames, nil for none; closed after the write
}

// connect sets the connection and starts to write the frames that were pushed before.
func (o *outlet) connect(conn io.Writer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.conn = conn
	o.launch()
}

// push enqueues whole frames, which must not be changed afterwards.
func (o *outlet) push(frames []byte) { o.pushWith(frames, nil) }

// pushWith enqueues frames together with a file whose descriptor is passed with them; nil means no file.
// The outlet owns the file from now on.
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

// release closes the file of a parcel after it was written or discarded.
func (p parcel) release() {
	if p.file != nil {
		_ = p.file.Close() // a duplicate descriptor of a memfd: an error is harmless
	}
}

// drop discards the queue and releases the connection. Later pushes are discarded, too.
func (o *outlet) drop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.queue {
		p.release()
	}
	o.conn, o.queue, o.dropped = nil, nil, true
}

// launch starts the writing goroutine if there is a connection and the queue is not empty. Callers hold
// mu.
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
			// Errors are ignored, because the goroutine that reads the connection detects the loss of the
			// peer.
			if p.file == nil {
				_, _ = conn.Write(p.frames)
			} else {
				_ = pass(conn, p.frames, p.file)
			}
			p.release()
		}
	}
}
