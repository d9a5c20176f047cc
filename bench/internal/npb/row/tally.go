package row

// Tally counts keys by bucket: it adds 1 to an element of counts for each key. The bucket of a key is key >> shift. The
// keys are not negative, and their buckets are below Buckets.
func Tally(counts *[Buckets]int32, keys []int32, shift int) {
	if groups := len(keys) / 4; wide && groups > 0 {
		tally4(&counts[0], &keys[0], groups, shift)
		keys = keys[4*groups:]
	}
	tally(counts, keys, shift)
}

// tally is the portable loop of Tally.
func tally(counts *[Buckets]int32, keys []int32, shift int) {
	shift &= 31
	for len(keys) >= 4 {
		a, b, c, d := keys[0], keys[1], keys[2], keys[3]
		keys = keys[4:]
		counts[a>>shift&(Buckets-1)]++
		counts[b>>shift&(Buckets-1)]++
		counts[c>>shift&(Buckets-1)]++
		counts[d>>shift&(Buckets-1)]++
	}
	for _, a := range keys {
		counts[a>>shift&(Buckets-1)]++
	}
}
