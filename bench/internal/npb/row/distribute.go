package row

// Buckets is the length of the table of Distribute. It is a power of two, so that an index masked by Buckets-1 is
// always in range, and the compiler omits the bounds check.
const Buckets = 1 << 10

// Distribute copies each key to the next free place of its bucket in the slice sorted, and advances that place. The
// bucket of a key is key >> shift. next holds the index of the next free place of each bucket. The keys are not
// negative, their buckets are below Buckets, and the free places of a bucket suffice for its keys.
func Distribute(sorted []int32, next *[Buckets]int32, keys []int32, shift int) {
	if wide && len(keys) > 0 && len(sorted) > 0 {
		keys = keys[distribute1(&sorted[0], &next[0], &keys[0], len(sorted), len(keys), shift):]
	}
	distribute(sorted, next, keys, shift) // the remaining keys; panics at a key whose place is outside sorted
}

// distribute is the portable loop of Distribute.
func distribute(sorted []int32, next *[Buckets]int32, keys []int32, shift int) {
	shift &= 31
	put := func(key int32) {
		at := &next[key>>shift&(Buckets-1)]
		sorted[*at] = key
		*at++
	}
	for len(keys) >= 4 {
		a, b, c, d := keys[0], keys[1], keys[2], keys[3]
		keys = keys[4:]
		put(a)
		put(b)
		put(c)
		put(d)
	}
	for _, key := range keys {
		put(key)
	}
}
