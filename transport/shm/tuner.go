package shm

import (
	"fmt"
	"math/bits"
	"strings"
	"time"
)

// way is the method of a Get from private memory that process_vm_readv can read.
// The fastest method depends on the processor: a single copy costs kernel work for every page, and
// the two copies of staging cost cache traffic. So the methods are timed, for each class of sizes.
type way uint8

const (
	wayAlone  way = iota // the reader copies
	wayShared            // reader and owner copy, see assist.go
	wayPiped             // the owner fills staging buffers, and the reader empties them
	ways
)

// String returns the name of the way in the text of Explain.
func (w way) String() string { return [...]string{"alone", "shared", "piped"}[w] }

const (
	// tunedBytes is the length in bytes of the shortest Get for which a way is chosen. Shorter Gets
	// use wayAlone.
	tunedBytes = 32 << 10
	// sharedBytes is the length in bytes of the shortest Get for which wayShared is tried.
	sharedBytes = 4 * minChunk
	// tunedClasses is the number of size classes: one class for each power of two from tunedBytes
	// on. Gets that are longer than the last class are in the last class.
	tunedClasses = 10
	// tunerTries is the number of times that each way of a class is tried before the fastest way is
	// chosen. After that, every tunerAgain-th Get of the class tries a way again: the three ways
	// take turns.
	tunerTries = 3
	tunerAgain = 32
	// tunerSample limits the timing of Gets that use wayAlone. After the first tries of a class, one
	// of every tunerSample such Gets is timed. Not all of them are timed, because reading the clock
	// twice takes 2 % of the time of the shortest Get.
	tunerSample = 8
	// maxAloof bounds the number of Gets that are made alone after a Get in which the owner was
	// asked for help and did not poll.
	maxAloof = 64
)

// tuner holds the times that each way took, by size class.
type tuner struct {
	classes [tunedClasses]struct {
		// nanos estimates the time per MiB in nanoseconds. A shorter measured time replaces nanos,
		// and a longer one raises nanos by a sixteenth of the difference.
		nanos [ways]int64
		tries [ways]int
		gets  int
	}
	// only is the way that pick returns for every Get of at least tunedBytes. If only is nil, pick
	// chooses the way.
	only *way
}

func tunerClass(n int) int {
	return min(bits.Len(uint(n/tunedBytes))-1, tunedClasses-1)
}

// pick chooses the way for a Get of n bytes.
func (t *tuner) pick(n int) way {
	if n < tunedBytes {
		return wayAlone
	}
	if t.only != nil {
		return *t.only
	}
	c := &t.classes[tunerClass(n)]
	c.gets++
	best := way(0)
	for w := range ways {
		if w == wayShared && n < sharedBytes {
			continue
		}
		if c.tries[w] < min(c.tries[best], tunerTries) || c.tries[best] >= tunerTries && c.nanos[w] < c.nanos[best] {
			best = w
		}
	}
	if c.gets%tunerAgain == 0 {
		if w := way(c.gets / tunerAgain % int(ways)); w != wayShared || n >= sharedBytes {
			return w
		}
	}
	return best
}

// samples reports whether the time of a Get of n bytes is measured. The way w was picked for this Get.
func (t *tuner) samples(w way, n int) bool {
	c := &t.classes[tunerClass(n)]
	return w != wayAlone || c.tries[w] < tunerTries || c.gets%tunerSample == 0
}

// note records the time of a Get of n bytes.
func (t *tuner) note(w way, n int, nanos int64) {
	if n < tunedBytes {
		return
	}
	c := &t.classes[tunerClass(n)]
	rate := nanos << 20 / int64(n)
	c.tries[w]++
	if c.tries[w] == 1 || rate < c.nanos[w] {
		c.nanos[w] = rate
		return
	}
	c.nanos[w] += (rate - c.nanos[w]) / 16
}

// String names the fastest way of each class that was measured, as in " (64 KiB alone, 1024 KiB
// piped)".
func (t *tuner) String() string {
	var known []string
	for i := range t.classes {
		c := &t.classes[i]
		best, found := way(0), false
		for w := range ways {
			if c.tries[w] > 0 && (!found || c.nanos[w] < c.nanos[best]) {
				best, found = w, true
			}
		}
		if found {
			known = append(known, fmt.Sprintf("%d KiB %v", tunedBytes>>10<<i, best))
		}
	}
	if known == nil {
		return ""
	}
	return " (" + strings.Join(known, ", ") + ")"
}

// begin chooses the way of an operation on private memory that can be reached
// directly.
func (t *Transport) begin(op *bulkOp) {
	op.begun = true
	t.traffic.Note(op.buf)
	if op.verb != verbGet || len(op.buf) < tunedBytes {
		return
	}
	op.way = t.tuner.pick(len(op.buf))
	r := &op.e.reach
	if op.way != wayAlone && r.skip > 0 {
		r.skip--
		op.way = wayAlone
	}
	if t.tuner.samples(op.way, len(op.buf)) {
		op.began = time.Now()
	}
	switch op.way {
	case wayShared:
		t.offerHelp(op)
	case wayPiped:
		op.staged = true
	default:
	}
}

// judge records the time of a Get that has ended, and whether the owner took part.
func (t *Transport) judge(op *bulkOp) {
	if op.began.IsZero() || op.err != nil {
		return
	}
	r := &op.e.reach
	t.tuner.note(op.way, len(op.buf), int64(time.Since(op.began)))
	switch {
	case op.way == wayAlone:
	case op.attended:
		r.aloof, r.skip = 0, 0
	default:
		r.aloof = min(2*r.aloof+1, maxAloof)
		r.skip = r.aloof
	}
}

// contends reports whether the later operations in the queue must wait for the end of this one. They
// must wait for a Get in which the owner takes part, because the time of this Get is measured.
func (op *bulkOp) contends() bool {
	return op.way != wayAlone && !op.finished && op.err == nil && !op.stalled &&
		op.e.reach.direct && !op.e.t.lost(op.e.slot)
}

// stall notes that the owner has not continued its copy for idleTaken steps. The owner may be stopped, for
// an unlimited time. The later operations, which may be on other peers, do not wait for this Get any longer,
// and the time of the Get is not recorded.
func (op *bulkOp) stall() { op.stalled, op.began = true, time.Time{} }
