package message

// BarrierKNomial is a barrier along a k-nomial tree, k = 4. A rank sends a message to its parent
// when it has received the messages of all its children. When rank 0, the root, has received the
// messages of its children, it releases all ranks by BcastKNomial, down the same tree. J.
// Mellor-Crummey and M. Scott, "Algorithms for scalable synchronization on shared-memory
// multiprocessors", ACM Transactions on Computer Systems 9 (1991), section 3.4, with messages in
// place of flags.
//
// Restrictions: none. Cost: up to 2 (k-1) ceil(log p / log k) alpha. BarrierKNomial sends 2 (p-1)
// messages in all. BarrierDissemination sends p ceil(log p) messages. BarrierKNomial is best if
// ranks share processors or links, because it sends fewer messages.
func BarrierKNomial(p Peer, _ *Call) error {
	rank, size := p.Rank(), p.Size()
	span := 1
	for ; span < size && rank/span%radix == 0; span *= radix {
		for digit := 1; digit < radix && rank+digit*span < size; digit++ {
			if err := p.Recv(rank+digit*span, nil); err != nil {
				return err
			}
		}
	}
	if rank > 0 {
		if err := p.Send(rank-rank/span%radix*span, nil); err != nil {
			return err
		}
	}
	return BcastKNomial(p, &Call{})
}
