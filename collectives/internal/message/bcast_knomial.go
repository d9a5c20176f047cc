package message

// radix is the k of the k-nomial algorithms. With k = 4 a tree has half as many levels as with k = 2,
// and at each level a rank sends up to 3 messages, one after the other.
const radix = 4

// BcastKNomial broadcasts c.Recv of root to all ranks along a k-nomial tree, k = 4. A rank that has
// the data is the first rank of a range of ranks, for which it is responsible. It divides the range
// into k groups, sends the data to the first rank of each other group, and goes on with its own
// group. A. Bar-Noy and S. Kipnis, "Designing broadcasting algorithms in the postal model for
// message-passing systems", Mathematical Systems Theory 27 (1994), give the reason for k > 2: a
// sender can send its second message before the first message has arrived.
//
// Restrictions: none. Cost: ceil(log p / log k) alpha, and for the sender (k-1) ceil(log p / log k)
// n beta; best for short messages on a network of long latency.
func BcastKNomial(p Peer, c *Call) error {
	buf, root := c.Recv, c.Root
	size := p.Size()
	me := (p.Rank() - root + size) % size
	span := 1 // a power of radix; after the loop, the number of ranks in this rank's subtree if it is full
	for ; span < size; span *= radix {
		if digit := me / span % radix; digit != 0 {
			if err := p.Recv((me-digit*span+root)%size, buf); err != nil {
				return err
			}
			break
		}
	}
	for span /= radix; span > 0; span /= radix {
		for digit := 1; digit < radix && me+digit*span < size; digit++ {
			if err := p.Send((me+digit*span+root)%size, buf); err != nil {
				return err
			}
		}
	}
	return nil
}
