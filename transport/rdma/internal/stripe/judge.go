package stripe

import (
	"fmt"
	"time"
)

// Judge decides by measurements whether the side connection is used and which parts it carries.
// NewJudge makes a Judge.
type Judge struct {
	trial  int
	gain   float64
	meters [paths]meter
	all    meter
	// alone is the measured rate of the main connection alone. together is the measured rate of
	// both connections. Both are in bytes per second. A rate is 0 if it was not measured yet.
	// carried is the number of bytes that each connection has carried since the last trial of both
	// connections began.
	alone, together float64
	carried         [paths]int
	// both is true while both connections are in use, and false while the main connection is used
	// alone. settled is true if the Judge has chosen the faster alternative, and false during a
	// trial. skip is the number of bytes that have to complete before the measurement begins. left is
	// the number of bytes to measure after that. Then the Judge makes its next decision.
	both, settled bool
	skip, left    int
	// rest is the length of the present or last period without a trial, in units of the length of a trial.
	rest int
	// on reports whether there is a side connection. Without a side connection the Judge makes no
	// decisions.
	on bool
}

const (
	// Gain is a factor. Both connections are used only if their rate together exceeds Gain times the
	// rate of the main connection alone.
	Gain = 1.05
	// A trial does not measure the first bytes that complete, because these bytes were posted before
	// the trial began. Their number is 1/skipShare of the length of the trial.
	skipShare = 8
	// restShort and restLong bound the number of bytes between two trials, in units of the length of
	// a trial. The number is doubled after a trial with the same result as the previous trial. After
	// a trial with the opposite result, the number is set to restShort.
	restShort, restLong = 32, 1024
	// unknownMost is the maximum number of parts in flight on a side connection whose rate is
	// unknown.
	unknownMost = 2
)

// NewJudge returns a Judge. The argument trial is the number of bytes that each trial measures. Both
// connections are used if their rate together exceeds gain times the rate of the main connection
// alone. With a gain of 0 every trial decides for both connections, and each connection takes every
// part for which it has room.
func NewJudge(trial int, gain float64) *Judge {
	j := &Judge{trial: max(trial, 1), gain: gain}
	j.begin()
	return j
}

// measure begins a trial of both connections, or of the main connection alone.
func (j *Judge) measure(both bool) {
	j.settle(both, j.trial)
	j.settled = false
	if both {
		j.meters[Side].forget() // the last rate may be outdated
		j.carried = [paths]int{}
	}
}

// settle chooses both connections, or the main connection alone. The choice holds until the given
// number of further bytes is measured.
func (j *Judge) settle(both bool, bytes int) {
	j.both, j.settled = both, true
	j.skip, j.left = j.trial/skipShare+1, bytes
}

// Both reports whether the side connection carries parts now.
func (j *Judge) Both() bool { return j.both }

// Takes reports whether a path (the main or the side connection) takes the next part. The argument
// part is the length of this part, and left is the number of bytes still to be posted, including
// the part. The path does not take the part if the other path could complete all these bytes
// earlier than this path could complete the part.
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

// Lost notes that the side connection was lost, with all parts in flight on it. The Judge measures
// the rates of the next side connection anew.
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

// begin makes both measured rates (the fields alone and together) unknown, and starts to measure
// them.
func (j *Judge) begin() {
	j.together, j.alone, j.rest = 0, 0, restShort
	j.measure(false)
}

// Reset returns the Judge to its initial state, without a side connection and without parts in
// flight.
func (j *Judge) Reset() { *j = *NewJudge(j.trial, j.gain) }

// decide ends a trial, or the period between two trials, and begins the next trial or period.
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

// String returns a text with the share of the bytes that the side connection carries, and with the
// measured rates. If the measured rates favor the main connection alone, the text says so. Before the
// first measurement of both connections together, the text says only that they are being measured.
func (j *Judge) String() string {
	if j.together == 0 {
		return "being measured"
	}
	total := max(j.carried[Main]+j.carried[Side], 1)
	if j.together <= j.alone*j.gain {
		return fmt.Sprintf("not used, too little gain: %s without it, %s with it", speed(j.alone), speed(j.together))
	}
	return fmt.Sprintf("carries %d%% of the bytes: %s without it, %s with it", 100*j.carried[Side]/total, speed(j.alone), speed(j.together))
}

func speed(rate float64) string { return fmt.Sprintf("%.0f MB/s", rate/1e6) }

// meter measures the throughput of a connection, or of both connections, while parts are in flight.
type meter struct {
	// under and parts are the numbers of bytes and of parts in flight. The duration of the next
	// completion is measured from busy. busy is the time of the previous completion. If no part was
	// in flight after that completion, busy is the time at which the next part was posted.
	under, parts int
	busy         time.Duration
	// total is the number of bytes that were completed since restart, and whole is the time that
	// they took. bytes and spent (in seconds) are corresponding sums in which the weight of old
	// completions decays. The meter needs sums over many completions. The time between two single
	// completions gives no rate, because completions are polled in batches.
	total        int
	whole        time.Duration
	bytes, spent float64
	// rate is bytes/spent, the recent throughput in bytes per second. It is 0 if the throughput is
	// unknown.
	rate float64
}

// late is a number of bytes. When this number of further bytes has completed, the weight of a byte
// in meter.bytes has decayed to 1/e or less.
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

// average returns the average rate since restart, in bytes per second.
func (m *meter) average() float64 { return float64(m.total) / max(m.whole, 1).Seconds() }

// forget makes the recent rate unknown.
func (m *meter) forget() { m.rate, m.bytes, m.spent = 0, 0, 0 }
