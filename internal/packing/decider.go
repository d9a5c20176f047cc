package packing

import "time"

// Mode selects whether payload is compressed.
type Mode int

const (
	// Auto compresses payload if that is faster, see [Limits].
	Auto Mode = iota
	// Never sends payload uncompressed.
	Never
	// Always compresses every piece of at least Limits.Min bytes that becomes shorter by at least an eighth.
	Always
)

// Slowest is a rate in bytes per second. A way is the connection or the disk for which a Decider decides. A way
// with the rate Slowest, or with a higher rate, is too fast for compression: compression would take longer than
// it saves.
const Slowest = 1 << 30

// vainMost is the number of consecutive pieces that were not worth compressing after which a Decider turns
// off.
const vainMost = 4

// Limits are the parameters of a [Decider]. Min, First, Most and Packed are in bytes. A look is a call of the
// caller's function that returns the Pace of the way.
type Limits struct {
	// Min is the length of the shortest piece that may be compressed.
	Min int
	// First is the payload in bytes until the first look. If no piece is compressed after this look, the payload
	// until the next look is First again. With every further such look it doubles, up to Most. It starts again
	// from First when a piece was worth compressing.
	First, Most int
	// Packed is the payload in bytes between two looks while the Decider is on.
	Packed int
	// Enough is a factor. If a piece becomes shorter by at least this factor, it is compressed even on a fast
	// way. 0 means that no factor suffices.
	Enough int
}

// Pace is the result of a look at a way.
type Pace struct {
	Rate  float64 // bytes per second that the way accepts; 0 if unknown
	Bound bool    // the way limits Rate, not the processor at one of its ends
}

// Decider decides for one way whether its pieces are compressed. One goroutine uses it.
type Decider struct {
	mode   Mode
	limits Limits
	on     bool
	// next is the payload in bytes until the next look. wait is the value that stop stores in next.
	next, wait int
	vain       int // consecutive pieces that were not worth compressing while the Decider was on
	// blocked is true if the way was full at some time since the last look.
	blocked bool
	// rate is the rate of the way in bytes per second at the last look, or 0 if the way was not slow.
	rate float64
}

// New returns a Decider with a mode and limits.
func New(m Mode, l Limits) Decider {
	return Decider{mode: m, limits: l, on: m == Always, next: l.First, wait: l.First}
}

// On reports whether pieces are compressed.
func (d *Decider) On() bool { return d.on }

// Block records that the way was full. If the way is never full, compression cannot make a transfer faster.
func (d *Decider) Block() { d.blocked = true }

// Wants reports whether the caller should try to compress a piece of n bytes. Wants calls look if it is
// time to look at the way.
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

// stop turns the Decider off. It stores wait, the payload until the next look, in next. Then it doubles wait,
// up to Limits.Most.
func (d *Decider) stop() {
	d.on, d.vain = false, 0
	d.next, d.wait = d.wait, min(2*d.wait, d.limits.Most)
}

// Judge takes the result of compressing a piece: n bytes became packed bytes in the time took. Judge reports
// whether the caller should send the compressed piece.
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

// saves reports whether compressing and decompressing take less time than sending the bytes that compression
// saves. The other side decompresses in about half of the time took. Both times count, because the program
// cannot use the processors during these times.
func (d *Decider) saves(n, packed int, took time.Duration) bool {
	return d.rate > 0 && took+took/2 < time.Duration(float64(n-packed)/d.rate*float64(time.Second))
}
