package placement

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Policy determines how ranks are distributed over hosts. The zero value fills the slots of one host
// after the other.
type Policy struct {
	ByNode  bool // the hosts get one rank each in turn
	PerHost int  // number of ranks of each host, in place of its slots; 0 if the slots determine it
}

// perHostMax bounds the number of ranks of a host.
const perHostMax = 1 << 16

// ParsePolicy parses "slot", "node" or "ppr:N". ":node" may follow N, as in Open MPI: "ppr:2:node".
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

// ParsePerHost parses a number of ranks per host.
func ParsePerHost(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > perHostMax {
		return 0, fmt.Errorf("want a number of ranks per host from 1 to %d", perHostMax)
	}
	return n, nil
}

// Room returns the number of ranks that the hosts take in one round of Deal, given the slots of each host.
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

// Deal returns the index of the host of each of n ranks, given the slots of each host, which are positive.
// When all slots are used, Deal begins another round with the first host. Deal returns an error if there are
// more ranks than PerHost allows.
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

// round appends the hosts of further ranks to the slice "to". It stops when every host has taken its ranks of
// one round, or when n ranks have hosts.
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
