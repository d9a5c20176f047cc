package rdma

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// run polls for so long with polls and looks that take what is said, and returns how
// many looks there were. found says what each finds.
func (p *pace) run(span, poll, look time.Duration, found int) int {
	looks := 0
	for now, end := p.looked, p.looked+span; now < end; {
		now += poll
		if p.due(0) {
			looks++
			p.note(found, now, now+look)
			now += look
		}
	}
	return looks
}

// TestPaceLooksLessOftenWhileNothingComes counts the looks of an idle transport beside
// one that spins and one that yields: they take about their share of the time, and the
// first thing found makes it look at every poll again.
func TestPaceLooksLessOftenWhileNothingComes(t *testing.T) {
	const span, look = 10 * time.Millisecond, time.Microsecond
	for _, poll := range []time.Duration{20 * time.Nanosecond, time.Microsecond, 20 * time.Microsecond} {
		p := pace{companion: true}
		looks := p.run(span, poll, look, 0)
		share := float64(looks) * float64(look) / float64(span)
		require.Less(t, share, 2.0/lookShare, "polls of %v", poll)
		require.Greater(t, looks, int(span/(lookShare*max(look, poll)))/2, "polls of %v", poll)
		for p.wait > 0 {
			p.due(0)
		}
		require.True(t, p.due(0))
		p.note(1, p.looked+poll, p.looked+poll+look)
		for range 100 {
			require.True(t, p.due(0), "busy")
			p.note(1, p.looked+poll, p.looked+poll+look)
		}
	}
	alone := pace{}
	for range 100 {
		require.True(t, alone.due(0))
		alone.note(0, alone.now(), alone.now())
	}
}
