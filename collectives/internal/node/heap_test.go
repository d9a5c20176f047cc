package node_test

import (
	"errors"
	goruntime "runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

// heap implements node.Memory for goroutines of this process. A goroutine that waits for a value
// of a word yields until the word has the value or the group has given up.
type heap struct {
	parts [][]byte
	room  *room
}

func (h *heap) Part(rank int) []byte          { return h.parts[rank] }
func (h *heap) Signal(w *node.Word, v uint64) { w.Store(v) }
func (h *heap) Await(w *node.Word, v uint64) error {
	for w.Load() < v {
		select {
		case <-h.room.quit:
			return errGone
		default:
			goruntime.Gosched()
		}
	}
	return nil
}

var errGone = errors.New("group gave up")

// room holds the memories that the members of one group open. The n-th memory that a member opens
// is the same for all members.
type room struct {
	mu       sync.Mutex // guards memories
	memories []*heap
	lanes    [][]lane // lanes[from][to]
	size     int
	quit     chan struct{}
	once     sync.Once
}

func newRoom(size int) *room {
	r := &room{size: size, quit: make(chan struct{}), lanes: make([][]lane, size)}
	for i := range r.lanes {
		r.lanes[i] = make([]lane, size)
	}
	return r
}

func (r *room) leave() { r.once.Do(func() { close(r.quit) }) }

// opener returns the function Config.Open of one member.
func (r *room) opener() func(bytes int) (node.Memory, error) {
	next := 0
	return func(bytes int) (node.Memory, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if next == len(r.memories) {
			h := &heap{room: r}
			for range r.size {
				h.parts = append(h.parts, make([]byte, bytes))
			}
			r.memories = append(r.memories, h)
		}
		next++
		return r.memories[next-1], nil
	}
}

// run runs fn as every member of a group and requires that all members succeed.
func run(t *testing.T, c node.Config, fn func(rank int, g *node.Group) error) {
	t.Helper()
	room := newRoom(c.Size)
	errs := make([]error, c.Size)
	var wg sync.WaitGroup
	for rank := range c.Size {
		wg.Go(func() {
			c := c
			c.Rank, c.Open, c.Reader = rank, room.opener(), ownMemory{}
			g, err := node.New(c)
			if err == nil {
				peers.Store(g, room.peer(rank, &heap{room: room}))
				defer peers.Delete(g)
				err = fn(rank, g)
			}
			if errs[rank] = err; err != nil {
				room.leave()
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
}
