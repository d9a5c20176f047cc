package virtual

// Cost is what a rank has done.
type Cost struct {
	// Sent and Received are messages, SentBytes and ReceivedBytes what they held.
	Sent, SentBytes, Received, ReceivedBytes int
	// Copied and Combined are bytes that the rank has copied within its memory, and combined.
	Copied, Combined int
	// Steps is how often it has done so.
	Steps int
	// Scratch is the most memory in bytes that the rank had of Peer.Scratch.
	Scratch int
	// Busy is processor time.
	Busy Time
}

// Result is what a simulation cost.
type Result struct {
	// Time is when the last rank ended. Mean is the mean over the ranks of the time from their
	// start to their end: with processors that several ranks share, not all start at once.
	Time, Mean Time
	// Messages and Bytes are sums over the ranks.
	Messages, Bytes int
	// Busiest has the most that any rank has of each cost.
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
