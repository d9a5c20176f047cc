package message

// radix is the number of branches per round of the k-nomial algorithms. With 4 a tree has half as
// many levels as with 2, and a rank sends up to 3 messages, one after the other, in each.
const radix = 4

// BcastKNomial sends recv of root to everyone along a k-nomial tree, k = 4: a rank that has the
// data parts the ranks it is responsible for into k groups and sends to the first of each of the
// others. A. Bar-Noy and S. Kipnis, "Designing broadcasting algorithms in the postal model for
// message-passing systems", Mathematical Systems Theory 27 (1994), give the reason for k > 2: a
// sender is ready for the next message before the first one has arrived.
//
// Restrictions: none. Cost: ceil(log p / log k) alpha, and for the sender (k-1) ceil(log p / log k)
// n beta; best for short messages on a network of long latency.
func BcastKNomial(p Peer, c *Call) error {
	buf, root := c.Recv, c.Root
	size := p.Size()
	me := (p.Rank() - root + size) % size
	span := 1 // of the ranks below this one, a power of the radix
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
