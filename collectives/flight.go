package collectives

import "github.com/gorun-hpc/gorun/internal/flight"

// record puts blocking call n, which was noted, into the flight recorder of the rank, recordStarted
// a nonblocking one.
func (k *call) record(n uint64) flight.Started {
	g := k.group
	site := g.recorder.Place(g.blocking.stack(n)[:])
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
