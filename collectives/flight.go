package collectives

import (
	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/internal/flight"
)

// places are the recorder's places of the last stacks. A look at each return address would take a
// twentieth of a short operation.
type places [8]struct {
	stack callsite.Site
	site  flight.Site
}

// of returns the place of a stack.
func (p *places) of(r *flight.Recorder, stack *callsite.Site) flight.Site {
	e := &p[(stack[0]^stack[1]^stack[2])>>2%uintptr(len(p))]
	for i := range stack { // not all at once: words that were just stored are loaded soonest one by one
		if e.stack[i] != stack[i] {
			e.stack, e.site = *stack, r.Place(stack[:])
			break
		}
		if stack[i] == 0 {
			break
		}
	}
	return e.site
}

// record puts blocking call n, which was noted, into the flight recorder of the rank, recordStarted
// a nonblocking one.
func (k *call) record(n uint64) flight.Started {
	g := k.group
	site := g.places.of(g.recorder, g.blocking.stack(n))
	return g.recorder.StartOf(&g.numbers, k.text(), g.context, k.worldRoot(), int(n), k.bytes, site)
}

func (k *call) recordStarted(n uint64) flight.Started {
	g := k.group
	return g.recorder.Start(k.text(), g.context, k.worldRoot(), int(n), k.bytes, g.recorder.Place(g.nonblocking.stack(n)[:]))
}

// text is the recorder's text of the operation.
func (k *call) text() uint8 {
	g := k.group
	text := uint8(g.texts[k.op].Load())
	if text == 0 {
		text = g.recorder.Text(k.op.String())
		g.texts[k.op].Store(uint32(text))
	}
	return text
}

// worldRoot is the world rank of the root, -1 for none.
func (k *call) worldRoot() int {
	if !k.op.Rooted() {
		return -1
	}
	return k.group.home.WorldRank(k.Root)
}
