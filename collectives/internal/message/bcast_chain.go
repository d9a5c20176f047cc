package message

// A message is divided into chainStages segments for a pipelined chain. If the segments would then be shorter than
// chainLeast bytes, they have chainLeast bytes. If they would be longer than chainMost bytes, they have chainMost
// bytes. In both cases the number of segments is not chainStages. With many segments, the time until the chain is full
// is a small part of the whole time. With long segments, the latency is short compared with the transfer time.
const (
	chainStages = 16
	chainLeast  = 4 << 10
	chainMost   = 256 << 10
)

// chainSegment returns the length of the segments into which n bytes are divided.
func chainSegment(n int) int { return min(max(n/chainStages, chainLeast), chainMost) }

// BcastChain broadcasts c.Recv of root to all ranks along the chain root, root+1, ..., root-1, in
// segments. A rank sends a segment to the next rank while it receives the next segment. The algorithm
// is the pipelined chain of J. Pjesivac-Grbovic and others, "Performance analysis of MPI collective
// operations", Cluster Computing 10 (2007).
//
// Restrictions: none. Cost: (p - 2 + n/s) (alpha + s beta) for segments of s bytes. BcastChain is
// best for long messages, because no rank sends a byte more than once, and for few ranks, because a
// short chain is soon full.
func BcastChain(p Peer, c *Call) error {
	buf, root := c.Recv, c.Root
	size := p.Size()
	me := (p.Rank() - root + size) % size
	if size == 1 {
		return nil
	}
	next, prev := (p.Rank()+1)%size, (p.Rank()-1+size)%size
	each := chainSegment(len(buf))
	segment := func(i int) []byte { return buf[min(i*each, len(buf)):min((i+1)*each, len(buf))] }
	count := max((len(buf)+each-1)/each, 1)
	for i := range count + 1 {
		// In step i a rank inside the chain receives segment i and sends segment i-1.
		receives, sends := me > 0 && i < count, me < size-1 && i > 0
		var err error
		switch {
		case receives && sends:
			err = p.Exchange(next, segment(i-1), prev, segment(i))
		case receives:
			err = p.Recv(prev, segment(i))
		case sends:
			err = p.Send(next, segment(i-1))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
