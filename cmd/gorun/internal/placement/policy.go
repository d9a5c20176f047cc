package placement

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Policy is how ranks are dealt to hosts. The zero value is by slot.
type Policy struct {
	ByNode  bool // one rank to each host in turn
	PerHost int  // ranks of each host, which its slots do not limit; 0 for slots
}

// perHostMax bounds the ranks of a host.
const perHostMax = 1 << 16

// ParsePolicy reads slot, node or ppr:N. The word node may follow N, as in the dialect of
// Open MPI: ppr:2:node.
func ParsePolicy(text string) (Policy, error) {
	switch text {
	case "slot":
		return Policy{}, nil
	case "node":
		return Policy{ByNode: true}, nil
	}
	number, ok := strings.CutPrefix(text, "ppr:")
	if !ok {
		return Policy{}, errors.New("want slot, node or ppr:N")
	}
	n, err := ParsePerHost(strings.TrimSuffix(number, ":node"))
	if err != nil {
		return Policy{}, fmt.Errorf("after ppr: %w", err)
	}
	return Policy{PerHost: n}, nil
}

// ParsePerHost reads a number of ranks per host.
func ParsePerHost(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > perHostMax {
		return 0, fmt.Errorf("want a number of ranks per host from 1 to %d", perHostMax)
	}
	return n, nil
}

// Room is how many ranks the hosts take in one round, given the slots of each.
func (p Policy) Room(slots []int) int {
	if p.PerHost > 0 {
		return p.PerHost * len(slots)
	}
	n := 0
	for _, s := range slots {
		n += s
	}
	return n
}

// Deal returns the host of each of n ranks, given the slots of each host, which are
// positive. More ranks than slots begin another round; more ranks than PerHost allows are an
// error.
func (p Policy) Deal(slots []int, n int) ([]int, error) {
	if p.PerHost > 0 && n > p.Room(slots) {
		return nil, fmt.Errorf("%d ranks, and %d hosts with %d ranks each take %d: name more hosts, allow more ranks per host, or start fewer",
			n, len(slots), p.PerHost, p.Room(slots))
	}
	to := make([]int, 0, n)
	for len(to) < n {
		to = p.round(to, slots, n)
	}
	return to, nil
}

// round deals until every host is full or there are n ranks.
func (p Policy) round(to, slots []int, n int) []int {
	room := func(i int) int {
		if p.PerHost > 0 {
			return p.PerHost
		}
		return slots[i]
	}
	if !p.ByNode {
		for i := range slots {
			for range min(room(i), n-len(to)) {
				to = append(to, i)
			}
		}
		return to
	}
	for turn, dealt := 0, true; dealt; turn++ {
		dealt = false
		for i := range slots {
			if turn < room(i) && len(to) < n {
				to, dealt = append(to, i), true
			}
		}
	}
	return to
}
