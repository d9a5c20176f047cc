package shm

import (
	"errors"
	"fmt"
	"sync"

	"github.com/gorun-hpc/gorun/internal/flight"
	"github.com/gorun-hpc/gorun/transport"
)

// Node is the shared memory of the ranks of one node. It has a range for each rank: a control
// area followed by the arena.
type Node struct {
	ranks int
	// mapped is the whole node memory if the ranks are processes. It is nil if the ranks share one
	// process.
	mapped     []byte
	rangeBytes int64
	// ring is the length in bytes of each ring (see ringLength).
	ring uint64
	// locals holds the ranges if the ranks share one process. Otherwise it is nil.
	locals []*localRange
}

// localRange is the range of a rank that shares its process with the other ranks.
type localRange struct {
	controlOnce, stagingOnce sync.Once
	control, staging         segment

	arena   localArena
	bell    transport.ChannelSleeper
	exposed exposures
}

// OpenNode maps the memory of a node from the file fd. The file has one range of rangeBytes bytes
// for each rank, and contains only zeros before the first rank joins. OpenNode touches no page. The
// caller may close the descriptor after the call.
func OpenNode(fd, ranks int, rangeBytes int64) (*Node, error) {
	if err := checkRanks(ranks); err != nil {
		return nil, err
	}
	if rangeBytes < offArena+pageBytes || rangeBytes%pageBytes != 0 {
		return nil, fmt.Errorf("shm: ranges of %d bytes: want whole pages, at least %d", rangeBytes, offArena+pageBytes)
	}
	size := int64(ranks) * rangeBytes
	b, err := mapMemory(fd, size)
	if err != nil {
		return nil, fmt.Errorf("shm: node memory for %d ranks: %w", ranks, err)
	}
	return &Node{ranks: ranks, mapped: b, rangeBytes: rangeBytes, ring: ringLength(ranks)}, nil
}

// NewLocalNode makes node memory on the heap, for ranks that share a process.
func NewLocalNode(ranks int) (*Node, error) {
	if err := checkRanks(ranks); err != nil {
		return nil, err
	}
	n := &Node{ranks: ranks, ring: shortRingBytes, locals: make([]*localRange, ranks)}
	for i := range n.locals {
		n.locals[i] = &localRange{}
	}
	return n, nil
}

// ringLength returns the length of the rings on a node of ranks that are processes. Ranks that share a processor
// take turns, and a turn moves at most the contents of a ring. On a node of more than longRingRanks ranks the rings
// are short, so that the memory of 256 ranks stays below 256 MiB.
func ringLength(ranks int) uint64 {
	if ranks > longRingRanks {
		return shortRingBytes
	}
	return ringBytes
}

// checkRanks returns an error if a node cannot have this number of ranks.
func checkRanks(ranks int) error {
	if ranks < 1 || ranks > slotRankMask {
		return fmt.Errorf("shm: a node of %d ranks: want 1 to %d", ranks, slotRankMask)
	}
	return nil
}

// Ranks returns the number of ranges.
func (n *Node) Ranks() int { return n.ranks }

// Local reports whether the ranks share one process.
func (n *Node) Local() bool { return n.locals != nil }

// Close unmaps the memory. Every Transport of this node in the process must be closed, and no
// slice of the memory may be in use.
func (n *Node) Close() error {
	if n.mapped == nil {
		return nil
	}
	b := n.mapped
	n.mapped = nil
	if err := unmapMemory(b); err != nil {
		return fmt.Errorf("shm: unmapping node memory: %w", err)
	}
	return nil
}

var errRange = errors.New("outside of the arena")

// span returns size bytes at off of the range of a rank.
func (n *Node) span(rank, off, size int) []byte {
	start := int64(rank)*n.rangeBytes + int64(off)
	return n.mapped[start : start+int64(size) : start+int64(size)]
}

// control returns the control area of a rank up to the staging buffers, which are not included.
func (n *Node) control(rank int) segment {
	if n.locals == nil {
		return segmentOf(n.span(rank, 0, offStaging))
	}
	l := n.locals[rank]
	l.controlOnce.Do(func() { l.control = heapSegment(controlBytes(n.ring)) })
	return l.control
}

// staging returns the staging buffers of a rank.
func (n *Node) staging(rank int) segment {
	if n.locals == nil {
		return segmentOf(n.span(rank, offStaging, stagingSlots*stagingBytes))
	}
	l := n.locals[rank]
	l.stagingOnce.Do(func() { l.staging = heapSegment(stagingSlots * stagingBytes) })
	return l.staging
}

// Record returns the memory of the flight recorder of a rank. It returns nil if the ranks share one
// process.
func (n *Node) Record(rank int) []byte {
	if n.locals != nil {
		return nil
	}
	return n.span(rank, offRecord, flight.Bytes)
}

// arenaSize returns the length in bytes of each arena.
func (n *Node) arenaSize() int {
	if n.locals != nil {
		return localArenaBytes
	}
	return int(n.rangeBytes - offArena)
}

// arenaBytes returns size bytes at off of the arena of a rank. In an arena on the heap, bytes may
// not exist yet. The argument create says whether arenaBytes allocates them.
func (n *Node) arenaBytes(rank int, off uint64, size int, create creation) ([]byte, error) {
	total := uint64(n.arenaSize())
	if size < 0 || off > total || uint64(size) > total-off {
		return nil, errRange
	}
	if n.locals != nil {
		return n.locals[rank].arena.bytes(off, size, create)
	}
	return n.span(rank, offArena+int(off), size), nil
}

// bell returns the Sleeper whose Ring wakes a rank, unless the rank is alone (see aloneSleeper).
func (n *Node) bell(rank int) transport.Sleeper {
	if n.locals != nil {
		return &n.locals[rank].bell
	}
	return newDoorbell(n.control(rank))
}
