package message

// AllToAllVPairwise hands part j of send of rank i to part i of recv of rank j in p-1 rounds:
// in round k a rank sends to the one k after it and receives from the one k before it. Empty
// parts are messages, too, so that parts of which the two ranks know other lengths are
// errors. recv may not be send.
//
// Restrictions: recv is not send. Cost: (p-1) (alpha + n beta) for parts of up to n bytes.
func AllToAllVPairwise(p Peer, c *Call) error {
	rank, size := p.Rank(), p.Size()
	p.Copy(c.RecvParts.Of(c.Recv, rank), c.SendParts.Of(c.Send, rank))
	for k := 1; k < size; k++ {
		to, from := (rank+k)%size, (rank-k+size)%size
		if err := p.Exchange(to, c.SendParts.Of(c.Send, to), from, c.RecvParts.Of(c.Recv, from)); err != nil {
			return err
		}
	}
	return nil
}
