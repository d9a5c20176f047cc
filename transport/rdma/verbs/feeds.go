package verbs

// feeds counts the streams (see Stream) that feed a completion queue. It implements the rules of
// dat_ep_create(3DAT) for the completion flags of streams that share a queue.
type feeds struct {
	// receives and requests are the numbers of receive streams and of request streams, for each
	// value of the completion flags.
	receives, requests [CompletionSolicitedWait + 1]int
	// others counts the streams of all other kinds.
	others int
}

func (f *feeds) any() bool {
	return total(f.receives) > 0 || total(f.requests) > 0 || f.others > 0
}

func total(counts [CompletionSolicitedWait + 1]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}

// add adds n to the count of streams of kind s with these flags. n is 1 when a stream begins to
// feed the queue, and -1 when a stream ends.
func (f *feeds) add(s Stream, flags CompletionFlags, n int) {
	switch s {
	case StreamReceive:
		f.receives[flags] += n
	case StreamRequest:
		f.requests[flags] += n
	default:
		f.others += n
	}
}

// legal reports whether the counted streams may share a queue.
func (f *feeds) legal() bool {
	receives, requests := total(f.receives), total(f.requests)
	same := func(n int, counts [CompletionSolicitedWait + 1]int) bool {
		return n == 0 || n == counts[0] || n == counts[1] || n == counts[2]
	}
	unsignalled := f.receives[CompletionUnsignalled] + f.requests[CompletionUnsignalled]
	solicited := f.receives[CompletionSolicitedWait]
	switch {
	case !same(receives, f.receives) || !same(requests, f.requests):
		// All receive streams of a queue must have equal flags. All request streams of a queue
		// must also have equal flags.
		return false
	case f.others > 0 && (unsignalled > 0 || solicited > 0):
		// If a stream of another kind feeds the queue, all streams must have CompletionThreshold.
		return false
	case unsignalled > 0 && unsignalled != receives+requests:
		// Unsignalled streams share a queue only with unsignalled streams.
		return false
	case solicited > 0 && requests > 0:
		// Receives with CompletionSolicitedWait do not share a queue with requests.
		return false
	}
	return true
}
