package stripe

import (
	"fmt"
	"time"
)

// Judge decides, by measuring, whether the side connection is used and which parts it
// carries. It must be made by NewJudge.
type Judge struct {
	trial  int
	gain   float64
	meters [paths]meter
	all    meter
	// alone and together are the measured rates of the main connection alone and of both, in
	// bytes per second, 0 if not measured yet. carried are the bytes that each connection has
	// carried since the last trial of both began.
	alone, together float64
	carried         [paths]int
	// both says that both connections are in use now, not the main one alone; settled, that
	// this was chosen as the faster and is no trial. The next skip bytes are not measured, the
	// left bytes after them are, and then comes the next decision.
	both, settled bool
	skip, left    int
	// rest is the length of what is settled next, in trials.
	rest int
	// on says that there is a side connection. Without one nothing is decided.
	on bool
}

const (
	// Gain is the factor by which the rate of both connections together has to exceed that of
	// the main one alone for both to be used.
	Gain = 1.05
	// A trial does not measure its first bytes, an amount of 1/skipShare of its length: they
	// were posted before it began.
	skipShare = 8
	// restShort and restLong bound how many bytes are carried between trials, in lengths of a
	// trial. The number doubles while trials have the same result, and is restShort after a
	// different one.
	restShort, restLong = 32, 1024
	// unknownMost is how many parts may be under way on a side connection whose rate is unknown.
	unknownMost = 2
)

// NewJudge returns a Judge whose trials measure trial bytes each. Both connections are used if
// their rate together exceeds gain times that of the main one alone. With a gain of 0 the result
// of every trial is to use both, and each takes every part for which it has room.
func NewJudge(trial int, gain float64) *Judge {
	j := &Judge{trial: max(trial, 1), gain: gain}
	j.begin()
	return j
}

// measure begins a trial: of both connections, or of the main one alone.
func (j *Judge) measure(both bool) {
	j.settle(both, j.trial)
	j.settled = false
	if both {
		j.meters[Side].forget() // the last rate may be outdated
		j.carried = [paths]int{}
	}
}

// settle chooses both connections, or the main one alone, until bytes more are measured.
func (j *Judge) settle(both bool, bytes int) {
	j.both, j.settled = both, true
	j.skip, j.left = j.trial/skipShare+1, bytes
}

// Both reports whether the side connection carries parts now.
func (j *Judge) Both() bool { return j.both }

// Takes reports whether a path takes the next part, of part bytes. left is the number of bytes
// still to be posted, the part included. The path does not take the part if the other path
// would complete all left bytes before this one has completed the part.
func (j *Judge) Takes(on Path, part, left int) bool {
	own, other := &j.meters[on], &j.meters[1-on]
	switch {
	case j.gain == 0:
		return true
	case own.rate == 0 || other.rate == 0:
		return on == Main || own.rate > 0 || own.parts < unknownMost
	}
	return float64(own.under+part)/own.rate <= float64(other.under+left)/other.rate
}

// Posted notes that a part of n bytes was posted on a path.
func (j *Judge) Posted(on Path, n int, now time.Duration) {
	j.meters[on].posted(n, now)
	j.all.posted(n, now)
}

// Completed notes that a part of n bytes is complete.
func (j *Judge) Completed(on Path, n int, now time.Duration) {
	j.meters[on].completed(n, now)
	j.all.completed(n, now)
	j.carried[on] += n
	switch {
	case !j.on:
	case j.skip > 0:
		if j.skip -= n; j.skip <= 0 {
			j.all.restart(now)
		}
	default:
		if j.left -= n; j.left <= 0 {
			j.decide()
		}
	}
}

// Lost notes that the side connection was lost, with all that was under way on it. The next
// side connection is measured anew.
func (j *Judge) Lost() {
	j.all.drop(j.meters[Side].under, j.meters[Side].parts)
	j.meters[Side] = meter{}
	j.on = false
	j.begin()
}

// Attach notes that there is a side connection.
func (j *Judge) Attach() {
	j.begin()
	j.on = true
}

// begin measures both ways anew.
func (j *Judge) begin() {
	j.together, j.alone, j.rest = 0, 0, restShort
	j.measure(false)
}

// Reset returns the Judge to its initial state, without a side connection: nothing is under way
// on either connection.
func (j *Judge) Reset() { *j = *NewJudge(j.trial, j.gain) }

// decide ends a trial or the time between two, and chooses what follows.
func (j *Judge) decide() {
	rate := j.all.average()
	was := j.together > j.alone*j.gain
	if j.both {
		j.together = rate
	} else {
		j.alone = rate
	}
	switch {
	case j.settled || j.together == 0:
		j.measure(!j.both)
		return
	case j.alone == 0:
		j.measure(false)
		return
	}
	better := j.together > j.alone*j.gain
	if better == was {
		j.rest = min(2*j.rest, restLong)
	} else {
		j.rest = restShort
	}
	j.settle(better, j.trial*j.rest)
}

// String says what share of the bytes the side connection carries, and the measured rates, or
// that it is not used.
func (j *Judge) String() string {
	if j.together == 0 {
		return "being measured"
	}
	total := max(j.carried[Main]+j.carried[Side], 1)
	if j.together <= j.alone*j.gain {
		return fmt.Sprintf("does not pay: %s alone, %s together", speed(j.alone), speed(j.together))
	}
	return fmt.Sprintf("%d%% there: %s alone, %s together", 100*j.carried[Side]/total, speed(j.alone), speed(j.together))
}

func speed(rate float64) string { return fmt.Sprintf("%.0f MB/s", rate/1e6) }

// meter measures the throughput of a connection, or of both, while parts are under way.
type meter struct {
	// under and parts are how many bytes and parts are under way. busy is when the time of the
	// next completion begins: at the completion before it, or, if nothing was under way then,
	// when its part was posted.
	under, parts int
	busy         time.Duration
	// total bytes were completed in the time whole since restart. bytes and spent are bytes and
	// seconds, too, but the weight of old completions decays. A sum is needed because completions
	// are polled in batches: the time between two of them says nothing.
	total        int
	whole        time.Duration
	bytes, spent float64
	// rate is bytes/spent, the recent throughput in bytes per second, 0 if unknown.
	rate float64
}

// late is the number of completed bytes after which the weight of earlier ones in meter.bytes
// has decayed to 1/e or less.
const late = 8 << 20

func (m *meter) posted(n int, now time.Duration) {
	if m.parts == 0 {
		m.busy = now
	}
	m.under += n
	m.parts++
}

func (m *meter) completed(n int, now time.Duration) {
	took := now - m.busy
	m.busy = now
	m.drop(n, 1)
	m.whole += took
	m.total += n
	kept := 1 - min(float64(n)/late, 1)
	m.bytes, m.spent = m.bytes*kept+float64(n), m.spent*kept+took.Seconds()
	if m.spent > 0 {
		m.rate = m.bytes / m.spent
	}
}

func (m *meter) drop(n, parts int) { m.under, m.parts = m.under-n, m.parts-parts }

// restart begins the average anew.
func (m *meter) restart(now time.Duration) { m.total, m.whole, m.busy = 0, 0, now }

// average is bytes per second since restart.
func (m *meter) average() float64 { return float64(m.total) / max(m.whole, 1).Seconds() }

// forget makes the rate unknown.
func (m *meter) forget() { m.rate, m.bytes, m.spent = 0, 0, 0 }
