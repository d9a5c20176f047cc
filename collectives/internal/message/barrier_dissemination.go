package message

// BarrierDissemination is the dissemination barrier of D. Hensgen, R. Finkel and
// U. Manber, "Two algorithms for barrier synchronization", International Journal
// of Parallel Programming 17 (1988).
//
// In round k rank r sends a message to rank r+2^k, and waits for the message of rank r-2^k (modulo
// p).
//
// Restrictions: none. Cost: ceil(log p) alpha.
func BarrierDissemination(p Peer, _ *Call) error {
	rank, size := p.Rank(), p.Size()
	for d := 1; d < size; d <<= 1 {
		if err := p.Exchange((rank+d)%size, nil, (rank-d+size)%size, nil); err != nil {
			return err
		}
	}
	return nil
}
