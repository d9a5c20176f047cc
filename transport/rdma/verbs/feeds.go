package verbs

// feeds counts the event streams that feed a completion queue, and holds the rules
// of dat_ep_create(3DAT) on which completion flags may meet in one.
type feeds struct {
	// receives and requests count endpoints by their completion flags.
	receives, requests [CompletionSolicitedWait + 1]int
	// others counts connection, connection request and limit streams.
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

// add counts a stream with its flags, n = 1, or takes it away, n = -1.
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

// legal reports whether the streams may share a queue.
func (f *feeds) legal() bool {
	receives, requests := total(f.receives), total(f.requests)
	same := func(n int, counts [CompletionSolicitedWait + 1]int) bool {
		return n == 0 || n == counts[0] || n == counts[1] || n == counts[2]
	}
	unsignalled := f.receives[CompletionUnsignalled] + f.requests[CompletionUnsignalled]
	solicited := f.receives[CompletionSolicitedWait]
	switch {
	case !same(receives, f.receives) || !same(requests, f.requests):
		// All endpoints that share the queue have equal flags for that stream.
		return false
	case f.others > 0 && (unsignalled > 0 || solicited > 0):
		// Fed by any other stream, only the threshold is valid.
		return false
	case unsignalled > 0 && unsignalled != receives+requests:
		// Unsignalled streams share with nothing else.
		return false
	case solicited > 0 && requests > 0:
		// Solicited receives have the queue for themselves.
		return false
	}
	return true
}
