package stripe

import (
	"fmt"
	"time"
)

// Judge decides what the side connection carries. It must be made by NewJudge.
type Judge struct {
	trial  int
	gain   float64
	meters [paths]meter
	all    meter
	// rates are what was measured of the main connection alone, and of both: bytes per second,
	// 0 if that has not been measured. shares are the bytes that each has carried of the latter.
	alone, together float64
	carried         [paths]int
	// both says what is carried now, settled that this is the better way and not a trial. skip
	// bytes are not measured, then left bytes are.
	both, settled bool
	skip, left    int
	rest          int
	// on says that there is a side connection, without which nothing is decided.
	on bool
}

const (
	// Gain is by how much both connections together have to be better than one to be used.
	Gain = 1.05
	// skipShare is the part of a trial that is not measured: what was posted before it.
	skipShare = 8
	// restShort and restLong are how many trials' bytes go by before the next one: fewer at
	// first, and ever more as long as they say the same.
	restShort, restLong = 32, 1024
	// unknownMost is the number of parts on a side connection whose rate is not known.
	unknownMost = 2
)

// NewJudge returns a judge that measures each way for a trial of so many bytes, and has both
// connections used together if they carry more than gain times what the main one carries alone.
// With a gain of 0 they are, and take every part for which they have room, whatever is measured.
func NewJudge(trial int, gain float64) *Judge {
	j := &Judge{trial: max(trial, 1), gain: gain}
	j.begin()
	return j
}

// measure begins a trial of one way.
func (j *Judge) measure(both bool) {
	j.settle(both, j.trial)
	j.settled = false
	if both {
		j.meters[Side].forget() // it may have been slow once
		j.carried = [paths]int{}
	}
}

// settle has one way used for so many bytes.
func (j *Judge) settle(both bool, bytes int) {
	j.both, j.settled = both, true
	j.skip, j.left = j.trial/skipShare+1, bytes
}

// Both reports whether the side connection carries parts now.
func (j *Judge) Both() bool { return j.both }

// Takes reports whether a path takes the next part of part bytes, when left bytes, these
// included, are to be posted: not if the other one would have done everything before.
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

// Lost notes that what was under way on the side connection is not any more. The next one is
// measured anew.
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

// Reset notes that nothing is under way any more.
func (j *Judge) Reset() { *j = *NewJudge(j.trial, j.gain) }

// decide ends a trial, or the time after one.
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

// String says in words what is carried, and why.
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

// meter measures how many bytes per second go by while there are some.
type meter struct {
	// under bytes in so many parts are under way, and have been since busy or for longer.
	under, parts int
	busy         time.Duration
	// total bytes went by in the time whole. bytes and spent are those of late: what was before
	// counts less and less. Completions come in batches, so that the time of each says nothing.
	total        int
	whole        time.Duration
	bytes, spent float64
	// rate is bytes per second of late, 0 if not known.
	rate float64
}

// late is how many bytes are of late.
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
