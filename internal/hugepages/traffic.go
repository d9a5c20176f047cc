package hugepages

import (
	"errors"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// blockBytes is the size of a block and of a huge page. offered compares it with the kernel's size.
	blockBytes = 2 << 20
	// shortest is the length in bytes of the shortest copy that is counted.
	shortest = 16 << 10
	// price is the number of bytes that are copied from and to a block before it is collapsed.
	price = 64 << 20
	// tries is the number of failed collapses of a block after which no further collapse is attempted. A
	// collapse fails if a peer reads from the block at that moment. Each failure doubles the price of the
	// next attempt.
	tries = 5
	// rest is the pause after a collapse, as a multiple of the duration of that collapse. With 19,
	// collapses take at most a twentieth of the time.
	rest = 19
	// blocksMax bounds the number of blocks in the table. If the table is full, the next new block clears the
	// table, and counting begins again.
	blocksMax = 1 << 12
	// settled is the value of block.left for a block that will not be collapsed, because the block is a huge
	// page or cannot become a huge page.
	settled = math.MaxInt
)

// Traffic counts the bytes that are copied from and to blocks of memory. It collapses a block into one huge
// page when the number of copied bytes has reached the price of the collapse. The collapse also allocates the
// pages of the block that did not exist. A short slice may therefore cost up to 2 MiB of memory around it.
//
// A collapse takes milliseconds. It sleeps most of this time, because the kernel waits until every processor
// has run a work item (lru_add_drain_all). Therefore a goroutine of its own executes each collapse. There is
// only one collapse at a time, with pauses between the collapses. The caller of Note never waits.
//
// Traffic does nothing if huge pages are switched off ("never" in /sys/kernel/mm/transparent_hugepage/enabled,
// or disablethp=1 in GODEBUG), if their size is not 2 MiB, or if the kernel cannot collapse memory on demand
// (before Linux 6.1). The zero value is ready for use. Two goroutines must not use a Traffic at the same time.
type Traffic struct {
	// Collapse makes one huge page of the block at an address. A collapse of 0 bytes fails only if the kernel
	// cannot collapse memory at all. Only tests set Collapse. If it is nil, Traffic uses madvise(2).
	Collapse func(addr uintptr, bytes int) error

	blocks map[uintptr]block
	// calm is the number of the last block that count has found settled. Note returns early for copies within
	// this block.
	calm uintptr
	// attempt is the collapse that is under way, or a collapse that has ended and whose result conclude has
	// not processed yet. Otherwise it is nil.
	attempt *attempt
	// resume is the time before which no collapse begins.
	resume time.Time
	opened bool // open has run
	off    bool // blocks cannot be huge pages (offered)
}

type block struct {
	left  int // bytes still to be copied before the block is collapsed, or the constant settled
	tries int // failed attempts
}

// attempt is the collapse of one block.
type attempt struct {
	number uintptr // number of the block: its address divided by blockBytes
	err    error
	took   time.Duration
	ended  atomic.Bool // set after err and took are set; they may be read only if it is true
}

// Note counts a copy from or to b. The caller calls it before the copy.
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

// count subtracts copied bytes from what is left of a block's price, and collapses the block if
// nothing is left.
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

// due begins the collapse of a block whose price has been paid. It does nothing during another collapse and
// during the pause after that collapse. The next copy from or to the block calls due again.
func (t *Traffic) due(number uintptr) {
	if t.attempt != nil {
		if !t.attempt.ended.Load() {
			return
		}
		t.conclude()
		if t.blocks[number].left > 0 {
			return // the collapse that has just ended was this block's
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

// conclude processes the result of a finished attempt.
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

// transient reports whether a later collapse of the same block may succeed.
func transient(err error) bool {
	return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.ENOMEM)
}

// open makes the table of blocks and asks the kernel whether blocks can be huge pages.
func (t *Traffic) open() {
	t.opened, t.blocks = true, make(map[uintptr]block)
	if t.Collapse == nil {
		t.Collapse = collapse
		t.off = !offered()
	}
	t.off = t.off || t.Collapse(0, 0) != nil
}

// offered reports whether the kernel's huge pages have the size of a block and are switched on, and the user has not
// switched them off for Go's heap (GODEBUG=disablethp=1).
var offered = sync.OnceValue(func() bool {
	if slices.Contains(strings.Split(os.Getenv("GODEBUG"), ","), "disablethp=1") {
		return false
	}
	const folder = "/sys/kernel/mm/transparent_hugepage/"
	enabled, err := os.ReadFile(folder + "enabled")
	if err != nil || strings.Contains(string(enabled), "[never]") {
		return false
	}
	size, err := os.ReadFile(folder + "hpage_pmd_size")
	return err == nil && strings.TrimSpace(string(size)) == strconv.Itoa(blockBytes)
})
