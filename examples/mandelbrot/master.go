package main

import (
	"fmt"
	"image"
	"slices"

	"github.com/asynkron/protoactor-go/actor"
)

// master is the actor that distributes the numbers of the lines among the workers and collects the
// computed lines.
type master struct {
	workers []*actor.PID
	picture *image.Paletted
	have    []bool
	count   int
	done    chan<- *image.Paletted
}

// Receive implements actor.Actor.
func (m *master) Receive(c actor.Context) {
	switch got := c.Message().(type) {
	case *actor.Started:
		m.have = make([]bool, *height)
		for _, w := range m.workers {
			c.Watch(w)
		}
		m.handOut(c)
	case *line:
		if m.have[got.Y] {
			return // the line was distributed twice, and has arrived a second time
		}
		m.have[got.Y] = true
		set(m.picture, got.Y, got.Pixels)
		m.count++
		if m.count*10/len(m.have) > (m.count-1)*10/len(m.have) {
			bar(m.count, len(m.have))
		}
		if m.count == len(m.have) {
			m.done <- m.picture
		}
	case *actor.Terminated:
		m.workers = slices.DeleteFunc(m.workers, got.Who.Equal)
		if m.count < len(m.have) {
			fmt.Printf("%s is lost, %d workers go on\n", got.Who.Address, len(m.workers))
			m.handOut(c)
		}
	}
}

// handOut distributes the missing lines among the workers. Some of these lines may already be with another
// worker, which computes them. The master ignores a line that arrives a second time.
func (m *master) handOut(c actor.Context) {
	missing := make([]int, 0, len(m.have))
	for y, have := range m.have {
		if !have {
			missing = append(missing, y)
		}
	}
	for i, w := range m.workers {
		from, to := i*len(missing)/len(m.workers), (i+1)*len(missing)/len(m.workers)
		c.Send(w, &work{missing[from:to]})
	}
}
