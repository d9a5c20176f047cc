package node

// BcastPipeline broadcasts the large buf of root to all members in segments. Root copies segments
// into its part as long as the part has room, and the others copy the segments out of it.
//
// Restrictions: none. Cost: alpha + (n + segment) beta for any number of readers with processors of
// their own.
func (g *Group) BcastPipeline(buf []byte, root int) error {
	f, err := g.flow()
	if err != nil {
		return err
	}
	each, count := f.cut(len(buf), 1, f.size)
	first := f.claim(count, each)
	for i := range count {
		s, part := first+uint64(i), window(buf, i, each)
		if g.rank == root {
			if err := f.put(part, s); err != nil {
				return err
			}
		} else {
			theirs, err := f.written(root, s)
			if err != nil {
				return err
			}
			copy(part, theirs)
		}
		f.finish(s)
	}
	return nil
}
