package node

// BcastPipeline broadcasts the large buf of root to all members in segments. Root copies segments
// into its part of the shared memory as long as the part has room. The other members copy the
// segments out of root's part.
//
// Restrictions: none. Cost: alpha + (n + segment) beta for any number of readers, if each reader has
// a processor of its own.
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
