package hugepages

import (
	"errors"
	"math"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// blockBytes is the size of a huge page, if the kernel says so.
	blockBytes = 2 << 20
	// shortest is the length in bytes from which a copy counts.
	shortest = 16 << 10
	// price is how many bytes go through a block before it is collapsed.
	price = 8 << 20
	// tries is how many failures to collapse a block are accepted, at twice the price each
	// time: a peer that reads from the block at that moment prevents it.
	tries = 5
	// rest is how long no collapse begins after one, as a multiple of its duration:
	// collapses take at most a twentieth of the time.
	rest = 19
	// blocksMax bounds the table. Beyond it counting begins again.
	blocksMax = 1 << 12
	// settled is a block's bytes when nothing more is to be done.
	settled = math.MaxInt
)

// Traffic counts the bytes that are copied from and to blocks of memory, and collapses a
// block into one huge page when enough bytes were copied to pay for the collapse. Pages of
// the block that did not exist are allocated, up to 2 MiB of memory around a short slice.
//
// A collapse takes milliseconds, mostly asleep: the kernel waits until every processor
// has run a work item (lru_add_drain_all). So a goroutine of its own makes it, one at
// a time, with pauses between them; the caller of Note never waits.
//
// Where huge pages are switched off ("never" in
// /sys/kernel/mm/transparent_hugepage/enabled), or are not of 2 MiB, or the kernel
// cannot collapse memory on demand (before Linux 6.1), it does nothing. The zero
// value is ready for use. It may not be used by two goroutines at a time.
type Traffic struct {
	// Collapse makes one huge page of the block at an address; nil for madvise(2). It
	// is for tests.
	Collapse func(addr uintptr, bytes int) error

	blocks map[uintptr]block
	// calm is the last block that was found settled, so that its copies take a short path.
	calm uintptr
	// attempt is the collapse that is under way or whose result has not been taken, or nil.
	attempt *attempt
	// resume is when the next collapse may begin.
	resume time.Time
	opened bool
	off    bool
}

type block struct {
	left  int // bytes until it is collapsed, or settled
	tries int
}

// attempt is the collapse of one block.
type attempt struct {
	number uintptr // of the block
	err    error
	took   time.Duration
	ended  atomic.Bool // after which err and took are set
}

// Note counts a copy from or to b, which has not begun.
func (t *Traffic) Note(b []byte) {
	if len(b) < shortest || t.off {
		return
	}
	first := address(b)
	last := first + uintptr(len(b)) - 1
	if first /= blockBytes; first == t.calm && last/blockBytes == first {
		return
	}
	for n := first; n <= last/blockBytes && !t.off; n++ {
		from, to := max(address(b), n*blockBytes), min(last+1, (n+1)*blockBytes)
		t.count(n, int(to-from))
	}
}

// count adds bytes to the traffic of a block.
func (t *Traffic) count(number uintptr, bytes int) {
	if !t.opened {
		t.open()
	}
	k, known := t.blocks[number]
	switch {
	case known && k.left == settled:
		t.calm = number
		return
	case !known && len(t.blocks) >= blocksMax:
		clear(t.blocks)
		fallthrough
	case !known:
		k.left = price
	}
	k.left = max(0, k.left-bytes)
	t.blocks[number] = k
	if k.left == 0 && !t.off {
		t.due(number)
	}
}

// due collapses a block that has paid the price, unless it is too soon after another
// collapse: then the next copy from or to the block tries again.
func (t *Traffic) due(number uintptr) {
	if t.attempt != nil {
		if !t.attempt.ended.Load() {
			return
		}
		t.conclude()
		if t.blocks[number].left > 0 {
			return // it was this one
		}
	}
	if time.Now().Before(t.resume) {
		return
	}
	a := &attempt{number: number}
	t.attempt = a
	go func() {
		start := time.Now()
		a.err = t.Collapse(number*blockBytes, blockBytes)
		a.took = time.Since(start)
		a.ended.Store(true)
	}()
}

// conclude takes the result of a finished attempt.
func (t *Traffic) conclude() {
	a := t.attempt
	t.attempt, t.resume = nil, time.Now().Add(rest*a.took)
	k := t.blocks[a.number]
	if k.tries++; a.err == nil || k.tries == tries || !transient(a.err) {
		t.blocks[a.number] = block{left: settled}
		return
	}
	k.left = price << k.tries
	t.blocks[a.number] = k
}

// transient says that a block may be collapsed later.
func transient(err error) bool {
	return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.ENOMEM)
}

// open asks the kernel which huge pages it offers.
func (t *Traffic) open() {
	t.opened, t.blocks = true, make(map[uintptr]block)
	if t.Collapse == nil {
		t.Collapse = collapse
		t.off = !offered()
	}
}

// offered says that there are huge pages of the size of a block.
func offered() bool {
	const folder = "/sys/kernel/mm/transparent_hugepage/"
	enabled, err := os.ReadFile(folder + "enabled")
	if err != nil || strings.Contains(string(enabled), "[never]") {
		return false
	}
	size, err := os.ReadFile(folder + "hpage_pmd_size")
	return err == nil && strings.TrimSpace(string(size)) == strconv.Itoa(blockBytes)
}
