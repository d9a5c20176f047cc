package message

// AllGatherVBruck gathers c.Send of all ranks in the parts of c.Recv of every rank, in the rounds
// of AllGatherBruck. The length of c.Send may differ from rank to rank. c.Send may be the same
// memory as this rank's part of c.Recv.
//
// Restrictions: none. Cost: ceil(log p) alpha + n beta for n bytes in all, and a copy of all parts;
// best for short parts.
func AllGatherVBruck(p Peer, c *Call) error {
	rank, size := p.Rank(), p.Size()
	total := 0
	for i := range size {
		total += c.RecvParts.Count(i)
	}
	room := p.Scratch(total) // this rank's part, the next rank's part, ...
	filled := p.Copy(room, c.Send)
	for have := 1; have < size; have *= 2 {
		count := min(have, size-have)
		out, in := 0, 0
		for i := range count {
			out += c.RecvParts.Count((rank + i) % size)
			in += c.RecvParts.Count((rank + have + i) % size)
		}
		to, from := (rank-have+size)%size, (rank+have)%size
		if err := p.Exchange(to, room[:out], from, room[filled:][:in]); err != nil {
			return err
		}
		filled += in
	}
	at := 0
	for i := range size {
		part := c.RecvParts.Of(c.Recv, (rank+i)%size)
		p.Copy(part, room[at:][:len(part)])
		at += len(part)
	}
	return nil
}
