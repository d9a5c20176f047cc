package packing

import "time"

// Mode says whether payload is compressed.
type Mode int

const (
	// Auto compresses where that is faster, see [Limits].
	Auto Mode = iota
	// Never sends payload as it is.
	Never
	// Always compresses whatever gets shorter by it.
	Always
)

// Slowest is a rate in bytes per second at which no payload is worth the time of both sides; a look
// at a faster way ends there.
const Slowest = 1 << 30

// vainMost is how many pieces in turn may not be worth it before payload goes as it is again.
const vainMost = 4

// Limits are those of a use of [Decider], in bytes.
type Limits struct {
	// Min is the shortest piece that may be compressed.
	Min int
	// First and Most are the payload between two looks while it is off: twice as much after every
	// look in vain.
	First, Most int
	// Packed is the payload between two looks while it is on.
	Packed int
	// Enough compresses pieces that get so many times shorter, whatever the way; 0 is none.
	Enough int
}

// Pace is what is known of a way.
type Pace struct {
	Rate  float64 // bytes per second that it takes; 0 is unknown
	Bound bool    // the way bounds it, and not what is at one of its ends
}

// Decider decides for one way whether its pieces are compressed. One goroutine uses it.
type Decider struct {
	mode   Mode
	limits Limits
	on     bool
	// next is the payload until the next look, wait what it was after the last one.
	next, wait int
	vain       int
	// blocked says that the way was full since the last look.
	blocked bool
	// rate is that of the last look, 0 for a way that is not slow.
	rate float64
}

// New returns a decider of a mode.
func New(m Mode, l Limits) Decider {
	return Decider{mode: m, limits: l, on: m == Always, next: l.First, wait: l.First}
}

// On reports whether pieces are compressed.
func (d *Decider) On() bool { return d.on }

// Block says that the way was full: without it nothing can be faster than sending.
func (d *Decider) Block() { d.blocked = true }

// Wants reports whether a piece of n bytes is to be tried. look is called where the way has to be looked
// at.
func (d *Decider) Wants(n int, look func() Pace) bool {
	if d.mode != Auto || n < d.limits.Min {
		return d.mode == Always && n >= d.limits.Min
	}
	if d.next -= n; d.next > 0 {
		return d.on
	}
	if !d.blocked && !d.on {
		d.next = d.limits.First
		return false
	}
	d.blocked = false
	way := look()
	if !way.Bound || way.Rate >= Slowest || way.Rate <= 0 {
		if d.limits.Enough == 0 {
			d.stop()
			return false
		}
		way.Rate = 0
	}
	d.rate, d.next = way.Rate, d.limits.Packed
	return true
}

// stop has payload sent as it is until the next look.
func (d *Decider) stop() {
	d.on, d.vain = false, 0
	d.next, d.wait = d.wait, min(2*d.wait, d.limits.Most)
}

// Judge says that n bytes of a piece became packed in the time that took, and reports whether they are to be
// sent so.
func (d *Decider) Judge(n, packed int, took time.Duration) bool {
	shorter := pays(n, packed)
	if d.mode != Auto {
		return shorter && d.mode == Always
	}
	if shorter && (d.saves(n, packed, took) || d.limits.Enough > 0 && packed <= n/d.limits.Enough) {
		d.on, d.vain, d.wait = true, 0, d.limits.First
		return true
	}
	if d.vain++; !d.on || d.vain >= vainMost {
		d.stop()
	}
	return shorter && d.on
}

// saves reports whether compressing takes less time than the bytes that are not sent. The other side
// unpacks in about half of the time, and neither has it for the program.
func (d *Decider) saves(n, packed int, took time.Duration) bool {
	return d.rate > 0 && took+took/2 < time.Duration(float64(n-packed)/d.rate*float64(time.Second))
}
