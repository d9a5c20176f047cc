package bootstrap

import (
	"io"
	"sync"
)

// outlet is what waits to be written to a connection. Nobody waits for it: a
// peer that does not read holds up its own outlet alone. What may wait is
// bounded by the protocol: one book, one notice per rank, a fence per fence.
type outlet struct {
	mu     sync.Mutex // guards what follows; nothing is called under it
	conn   io.Writer  // nil while there is no connection
	queue  [][]byte   // whole frames, shared with other outlets and not written to
	flying bool       // a goroutine writes the queue
}

// connect gives the outlet its connection, for what was pushed before, too.
func (o *outlet) connect(conn io.Writer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.conn = conn
	o.launch()
}

// push queues whole frames, which nobody may change any more.
func (o *outlet) push(frames []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue = append(o.queue, frames)
	o.launch()
}

// drop forgets the connection and what waits: nothing is pushed any more.
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
			// A peer that is gone is noticed by its own end.
			_, _ = conn.Write(frames)
		}
	}
}
