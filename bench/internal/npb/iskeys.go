package npb

import (
	"github.com/gorun-hpc/gorun/bench/internal/npb/row"
	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// isBuckets is the number of buckets of the class with the most buckets, and the length of the tables of all classes.
const isBuckets = row.Buckets

// keys holds this process's part of the keys of IS, and the tables to compute their positions in the
// sorted sequence (the ranks of the keys, in the terms of NPB).
type keys struct {
	comm    *runtime.Comm
	problem isProblem
	shift   int     // a key's bucket is key >> shift
	mine    []int32 // the keys of this rank, in the order of the sequence

	buckets int
	// counts holds the number of this rank's keys in each bucket. totals holds the number of all ranks' keys
	// in each bucket. After the elements of the buckets, counts contains the keys under test that this rank has,
	// and totals contains all keys under test.
	counts, totals [isBuckets + isTests]int32
	next           [isBuckets]int32 // the index in sorted for the next key of each bucket
	sorted         []int32          // the elements of mine, ordered by their bucket

	sends, receives []int32 // the number of keys to send to and to receive from each rank
	arrived         []int32 // the keys that have arrived from other ranks
	own             []int32 // the part of sorted with the keys that this rank owns
	requests        []runtime.Request

	lowest int32   // the lowest key value of the buckets that this rank owns
	below  int     // the number of keys in the buckets of lower ranks
	places []int32 // places[v]: the number of keys with values from lowest to lowest+v, including both
}

func newKeys(c *runtime.Comm, problem isProblem) *keys {
	each := 1 << problem.log2Keys / c.Size()
	k := &keys{
		comm: c, problem: problem, shift: problem.log2Max - problem.log2Buckets, buckets: 1 << problem.log2Buckets,
		mine: make([]int32, each), sorted: make([]int32, each), arrived: make([]int32, each),
		sends: make([]int32, c.Size()), receives: make([]int32, c.Size()),
	}
	random := Random(seedCG)
	random.Skip(4 * uint64(each) * uint64(c.Rank()))
	scale := float64(int64(1)<<problem.log2Max) / 4
	var r [4]float64
	for i := range k.mine {
		random.Fill(r[:])
		k.mine[i] = int32(scale * (r[0] + r[1] + r[2] + r[3]))
	}
	return k
}

// rank computes the positions of the keys of one iteration in the sorted sequence. It returns how many
// of the keys under test are in buckets of this process and have the published position.
func (k *keys) rank(it int) (passed int, err error) {
	if k.comm.Rank() == 0 {
		k.mine[it] = int32(it)
		k.mine[it+isIterations] = int32(1<<k.problem.log2Max - it)
	}
	clear(k.counts[:])
	row.Tally((*[isBuckets]int32)(k.counts[:]), k.mine, k.shift)
	k.pickTests()
	if err := collectives.AllReduce(k.comm, k.counts[:k.buckets+isTests], k.totals[:k.buckets+isTests], collectives.Sum); err != nil {
		return 0, err
	}
	k.share()
	// The keys of a bucket have few values. If keys are ordered by bucket, count therefore increments elements of
	// places that are in the caches.
	row.Distribute(k.sorted, &k.next, k.mine, k.shift)
	if err := k.exchange(); err != nil {
		return 0, err
	}
	k.sum()
	return k.test(it), nil
}

// pickTests stores the keys under test that this rank has. It stores them after the counts of the buckets,
// so that the reduction of the counts gives every rank all keys under test.
func (k *keys) pickTests() {
	tests := k.counts[k.buckets:]
	first := k.comm.Rank() * len(k.mine)
	for i, index := range k.problem.testIndex {
		if index >= first && index < first+len(k.mine) {
			tests[i] = k.mine[index-first]
		}
	}
}

// share assigns consecutive buckets to the ranks. Rank j gets so many buckets that ranks 0 to j together have
// at least the fraction (j+1)/size of all keys. share also reserves a part of the slice sorted for each bucket.
func (k *keys) share() {
	size, me := k.comm.Size(), k.comm.Rank()
	each := 1 << k.problem.log2Keys / size
	clear(k.sends)
	total, at := 0, int32(0) // the numbers of all ranks' keys, and of this rank's keys, in the buckets so far
	j, first := 0, -1
	for b := range k.buckets {
		if first < 0 && j == me {
			first, k.lowest, k.below = b, int32(b<<k.shift), total
		}
		total += int(k.totals[b])
		k.next[b] = at
		at += k.counts[b]
		k.sends[j] += k.counts[b]
		if total >= (j+1)*each || b == k.buckets-1 {
			if j == me {
				k.clearPlaces((b + 1 - first) << k.shift)
				k.own = k.sorted[at-k.sends[me] : at]
			}
			j++
		}
	}
	if j <= me { // no bucket is left for this rank
		k.lowest, k.below = 1<<k.problem.log2Max, total
		k.clearPlaces(0)
		k.own = nil
	}
}

// clearPlaces makes the slice places, with one element of value 0 for each of the key values in the buckets
// of this rank.
func (k *keys) clearPlaces(values int) {
	if cap(k.places) < values {
		k.places = make([]int32, values)
	}
	k.places = k.places[:values]
	clear(k.places)
}

// exchange sends the keys to the ranks that own their buckets, and counts the keys in the buckets of this
// rank. It does not copy the keys that stay at this rank. It counts these keys while messages are in flight.
func (k *keys) exchange() error {
	if err := collectives.AllToAll(k.comm, k.sends, k.receives); err != nil {
		return err
	}
	me := k.comm.Rank()
	var total int
	for from, n := range k.receives {
		if from != me {
			total += int(n)
		}
	}
	if cap(k.arrived) < total {
		k.arrived = make([]int32, total+total/8)
	}
	k.arrived = k.arrived[:total]
	k.requests = k.requests[:0]
	at := 0
	for from, n := range k.receives {
		if from != me && n > 0 {
			k.requests = append(k.requests, runtime.Irecv(k.comm, k.arrived[at:at+int(n)], from, isTag))
			at += int(n)
		}
	}
	at = 0
	for to, n := range k.sends {
		if to != me && n > 0 {
			k.requests = append(k.requests, runtime.Isend(k.comm, k.sorted[at:at+int(n)], to, isTag))
		}
		at += int(n)
	}
	k.count(k.own)
	if err := runtime.WaitAll(k.requests); err != nil {
		return err
	}
	k.count(k.arrived)
	return nil
}

// count adds keys to the histogram of this rank's key values. The histogram is in the field places.
func (k *keys) count(some []int32) {
	places, lowest := k.places, k.lowest
	for len(some) >= 4 {
		a, b, c, d := some[0], some[1], some[2], some[3]
		some = some[4:]
		places[a-lowest]++
		places[b-lowest]++
		places[c-lowest]++
		places[d-lowest]++
	}
	for _, key := range some {
		places[key-lowest]++
	}
}

// sum replaces the histogram in places by its prefix sums.
func (k *keys) sum() {
	var sum int32
	for i, n := range k.places {
		sum += n
		k.places[i] = sum
	}
}

// test returns how many of the keys under test are in buckets of this process and have the published
// position.
func (k *keys) test(it int) (passed int) {
	for i, key := range k.totals[k.buckets : k.buckets+isTests] {
		v := int(key - k.lowest)
		if key <= 0 || v < 0 || v >= len(k.places) {
			continue
		}
		got := k.below
		if v > 0 {
			got += int(k.places[v-1])
		}
		if got == k.problem.testRank[i]+k.problem.drift(i, it) {
			passed++
		}
	}
	return passed
}
