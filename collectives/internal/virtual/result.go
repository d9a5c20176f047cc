package virtual

// Cost has the counts of a rank's messages, bytes and steps.
type Cost struct {
	// Sent and Received are numbers of messages. SentBytes and ReceivedBytes are the sums of their
	// lengths.
	Sent, SentBytes, Received, ReceivedBytes int
	// Copied is the number of bytes that the rank has copied within its memory. Combined is the number
	// of bytes that it has combined by a Reduction.
	Copied, Combined int
	// Steps is the number of copies and combinations that Copied and Combined count.
	Steps int
	// Scratch is the largest length, in bytes, with which the rank has called Peer.Scratch.
	Scratch int
	// Busy is the processor time of the rank.
	Busy Time
}

// Result is the cost of a simulation.
type Result struct {
	// Time is the time at which the last rank ended. Mean is the mean, over the ranks, of the time
	// from the start of a rank to its end. (Ranks that share a processor do not start at the same
	// time.)
	Time, Mean Time
	// Messages is the number of messages that all ranks have sent. Bytes is the sum of their lengths.
	Messages, Bytes int
	// Busiest has, for each field of Cost separately, the largest value of any rank.
	Busiest Cost
}

func (n *network) result() *Result {
	s := &Result{}
	var total Time
	for i := range n.ranks {
		r := &n.ranks[i]
		s.Time = max(s.Time, r.ended)
		total += (r.ended - r.started) / Time(len(n.ranks))
		s.Messages += r.cost.Sent
		s.Bytes += r.cost.SentBytes
		b, c := &s.Busiest, &r.cost
		b.Sent, b.SentBytes = max(b.Sent, c.Sent), max(b.SentBytes, c.SentBytes)
		b.Received, b.ReceivedBytes = max(b.Received, c.Received), max(b.ReceivedBytes, c.ReceivedBytes)
		b.Copied, b.Combined, b.Steps = max(b.Copied, c.Copied), max(b.Combined, c.Combined), max(b.Steps, c.Steps)
		b.Scratch, b.Busy = max(b.Scratch, c.Scratch), max(b.Busy, c.Busy)
	}
	s.Mean = total
	return s
}
