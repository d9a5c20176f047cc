// Package checkpoint keeps copies of what ranks need to go on after the loss of one of them: a
// rank's own copy and one at another rank, its keeper, on another node if there is one.
//
//	store, err := checkpoint.New(checkpoint.Config{})
//	...
//	return w.Resume(func(w *runtime.World) error {
//		state := make([]float64, n)
//		step, found, err := store.Restore(w.Comm(), checkpoint.Slice(state))
//		if err != nil {
//			return err
//		}
//		if !found {
//			initialize(state)
//		}
//		for ; step < steps; step++ {
//			if step%100 == 0 {
//				if err := store.Save(w.Comm(), step, checkpoint.Slice(state)); err != nil {
//					return err
//				}
//			}
//			...
//		}
//		return nil
//	})
//
// A Store lives as long as its process, beyond the Worlds of runtime.World.Resume. It has two
// generations of copies. Save replaces the older one, so that a loss in the middle of it leaves
// the newer one; it returns nil when all ranks have stored theirs. Restore takes the newest that
// exists for all ranks: the ranks of processes that were started again get theirs from their
// keepers, and the keepers that were started again get those that they are to keep.
//
// A rank and its keeper may be lost together: then the copy is gone, unless there is a directory
// with files, and Restore returns LostError at all ranks. With a directory that all ranks can
// read, or each its own part of, a whole job can be started again from it.
//
// A copy costs the memory of the parts, four times at each rank. Copies at keepers on other nodes and in
// files are compressed where a Save takes less time by it, as measured on the way there, and files also where
// they get four times shorter: see Config.Compression. Of other data a sample is tried now and then. gorun
// -explain and Store.Volume tell how much was compressed to what.
//
// Unstable: any release may change this package, also after v1.
package checkpoint
