package rdma

import (
	"time"

	"github.com/gorun-hpc/gorun/transport"
)

// attender is a Sleeper whose goroutines can sleep in a transport (transport.NetworkSleeper).
type attender interface{ Attend(d transport.Dozer) }

var _ transport.Dozer = (*Transport)(nil)

// attend lets the goroutines of the rank sleep in the adapter, if the Sleeper supports this and there is only one
// adapter. A goroutine cannot sleep in two adapters at the same time.
func (t *Transport) attend() {
	if s, ok := t.config.Sleeper.(attender); ok && len(t.rails) == 1 {
		t.rails[0].adapter.Attend(true)
		s.Attend(t)
	}
}

// Doze implements transport.Dozer.
func (t *Transport) Doze(nanos int64) bool {
	var until time.Time
	if nanos >= 0 {
		until = time.Now().Add(time.Duration(nanos))
	}
	return t.rails[0].adapter.Doze(until)
}

// Rouse implements transport.Dozer.
func (t *Transport) Rouse() { t.rails[0].adapter.Rouse() }
