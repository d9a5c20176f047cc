package bootstrap

import (
	"io"
	"sync"
)

// outlet is the queue of frames to be written to a connection. No caller waits for it: a
// peer that does not read blocks only its own outlet. The protocol bounds the queue: one
// book, one notice per rank, one answer per fence.
type outlet struct {
	mu     sync.Mutex // guards what follows; nothing is called under it
	conn   io.Writer  // nil while there is no connection
	queue  [][]byte   // whole frames, shared with other outlets and not written to
	flying bool       // a goroutine writes the queue
}

// connect gives the outlet its connection and starts to write what was pushed before.
func (o *outlet) connect(conn io.Writer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.conn = conn
	o.launch()
}

// push queues whole frames, which must not be changed afterwards.
func (o *outlet) push(frames []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue = append(o.queue, frames)
	o.launch()
}

// drop removes the connection and the queue; later pushes are ignored.
func (o *outlet) drop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.conn, o.queue = nil, nil
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
		for _, frames := range queue {
			// The reader of the connection detects a peer that is gone.
			_, _ = conn.Write(frames)
		}
	}
}
