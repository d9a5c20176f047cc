package rdma

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// run simulates polling. It returns the times at which the looks at the adapter began. The argument span is the
// duration of the simulation, poll is the duration of a poll, and look is the duration of a look. finds are the
// times at which events arrive. The next look after each of these times finds the event.
func (p *pace) run(span, poll, look time.Duration, finds ...time.Duration) []time.Duration {
	var looks []time.Duration
	for now, end := p.looked, p.looked+span; now < end; {
		now += poll
		if p.skips() || !p.due(now) {
			continue
		}
		found := 0
		if len(finds) > 0 && finds[0] <= now {
			found, finds = 1, finds[1:]
		}
		looks = append(looks, now)
		p.note(found, now, now+look)
		now += look
	}
	return looks
}

// polls are poll times of three kinds of ranks: one spins, one does other work between two polls, and one yields
// its processor at every poll.
var polls = []time.Duration{20 * time.Nanosecond, time.Microsecond, 20 * time.Microsecond}

// TestPaceLooksLessOftenWhileNothingComes counts the looks of an idle transport. The test checks that the looks
// take at most 1.2/lookShare of the time, and not much less than 1/lookShare.
func TestPaceLooksLessOftenWhileNothingComes(t *testing.T) {
	const span, look = 10 * time.Millisecond, 300 * time.Nanosecond
	for _, poll := range polls {
		p := pace{companion: true}
		p.run(span, poll, look) // looks are more frequent at the beginning
		looks := p.run(span, poll, look)
		share := float64(len(looks)) * float64(look) / float64(span)
		require.Less(t, share, 1.2/lookShare, "polls of %v", poll)
		require.Greater(t, len(looks), int(span/(lookShare*look+2*poll))*9/10, "polls of %v", poll)
	}
}

// TestPaceFindsAnswersSoon lets events arrive at longer and longer intervals. The test checks that the look that
// finds an event is late by at most 1/quietShare of the interval, plus two polls and a look.
func TestPaceFindsAnswersSoon(t *testing.T) {
	const look = 300 * time.Nanosecond
	for _, poll := range polls {
		p := pace{companion: true}
		for after := time.Microsecond; after < 10*time.Millisecond; after += after / 3 {
			due := p.found + after
			looks := p.run(2*after, poll, look, due)
			i := slices.IndexFunc(looks, func(at time.Duration) bool { return at >= due })
			require.GreaterOrEqual(t, i, 0)
			require.LessOrEqual(t, looks[i]-due, min(after/quietShare, lookShare*look)+2*poll+look, "%v after the last, polls of %v", after, poll)
			if i+1 < len(looks) {
				require.LessOrEqual(t, looks[i+1]-looks[i], look+2*poll, "the next one comes at once")
			}
			p.note(1, p.looked, p.looked)
		}
	}
}

// TestPaceSeesThatPollsBecomeLong makes polls take a millisecond after polls of 20 ns. The test checks that the
// next look follows within countMax+2 polls, although the pace had planned to count polls without reading the
// clock.
func TestPaceSeesThatPollsBecomeLong(t *testing.T) {
	p := pace{companion: true}
	p.run(10*time.Millisecond, 20*time.Nanosecond, 300*time.Nanosecond)
	looks := p.run((countMax+2)*time.Millisecond, time.Millisecond, 300*time.Nanosecond)
	require.NotEmpty(t, looks)
	looks = p.run(10*time.Millisecond, time.Millisecond, 300*time.Nanosecond)
	require.GreaterOrEqual(t, len(looks), 9, "then at every poll")
}
