package collectives

import "github.com/gorun-hpc/gorun/internal/flight"

// record puts call n, which was noted in calls, into the flight recorder of the rank.
func (k *call) record(n uint64, calls *record) flight.Started {
	g := k.group
	text := uint8(g.texts[k.op].Load())
	if text == 0 {
		text = g.recorder.Text(k.op.String())
		g.texts[k.op].Store(uint32(text))
	}
	root := -1
	if k.op.Rooted() {
		root = g.home.WorldRank(k.Root)
	}
	return g.recorder.Start(text, g.context, root, int(n), k.bytes, g.recorder.Place(calls.stack(n)))
}
