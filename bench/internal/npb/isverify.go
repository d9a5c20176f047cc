package npb

import "github.com/gorun-hpc/gorun/runtime"

// verify stores each key of the last iteration at its place in the sorted sequence. It returns how many keys of
// this rank are at least as large as the key before them in this sequence. The key before the first key of this
// rank is the last key of the lower ranks. The order of all keys is correct only if every rank counts all of its
// keys.
func (k *keys) verify() (int64, error) {
	var all int
	if n := len(k.places); n > 0 {
		all = int(k.places[n-1])
	}
	ordered := make([]int32, all)
	for i := range ordered {
		ordered[i] = -1 // a place at which no key is stored counts as out of order
	}
	for _, some := range [][]int32{k.own, k.arrived} {
		for _, key := range some {
			at := &k.places[key-k.lowest]
			*at--
			ordered[*at] = key
		}
	}
	previous, err := k.lastBelow(ordered)
	if err != nil {
		return 0, err
	}
	var count int64
	for _, key := range ordered {
		if key >= max(previous, 0) {
			count++
		}
		previous = key
	}
	return count, nil
}

// lastBelow receives the largest key of the lower ranks from the previous rank, and returns that key. It
// sends the largest key of this rank to the next rank. A rank without keys sends the key that it has
// received.
func (k *keys) lastBelow(ordered []int32) (int32, error) {
	rank, previous := k.comm.Rank(), []int32{0}
	if rank > 0 {
		if _, err := runtime.Recv(k.comm, previous, rank-1, isTag); err != nil {
			return 0, err
		}
	}
	last := previous[0]
	if len(ordered) > 0 {
		last = ordered[len(ordered)-1]
	}
	if rank < k.comm.Size()-1 {
		if err := runtime.Send(k.comm, []int32{last}, rank+1, isTag); err != nil {
			return 0, err
		}
	}
	return previous[0], nil
}
