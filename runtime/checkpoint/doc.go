// Package checkpoint keeps copies of the data that ranks need to continue after the loss of a rank.
// Each rank has a copy in its own memory, and a second copy in the memory of another rank, its
// keeper. The keeper is on another node if the distribution of the ranks over the nodes allows it.
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
//		for restored := step; step < steps; step++ {
//			if step%100 == 0 && step > restored {
//				if err := store.Save(w.Comm(), step, checkpoint.Slice(state)); err != nil {
//					return err
//				}
//			}
//			...
//		}
//		return nil
//	})
//
// A Store lives as long as its process, so it outlives the Worlds of runtime.World.Resume. When the job ends, the
// copies in memory are lost, also those of a Save in the last step. Only the files in Config.Directory remain. A Store
// has two generations of copies. Save replaces the older generation, so that the newer generation remains if
// a rank is lost during the Save. Save returns nil when all ranks have stored their copies. Restore
// uses the newest checkpoint that exists for all ranks. A rank whose process was started again
// receives its own copy from its keeper, and receives again the copy that it keeps for another rank.
//
// If a rank and its keeper are lost together, both copies of that rank are lost. If the files in
// Config.Directory have no copy either, Restore returns LostError at all ranks. A whole job can be
// started again from a directory if each rank can read its own files in it.
//
// Each rank uses about four times the memory of its parts: two generations, each with the rank's own copy
// and the copy that it keeps for another rank. Copies that go to keepers on other nodes or to
// files are compressed if compression makes Save faster, according to the measured rates of the
// connection and of the disk. Files are also compressed if they become at least four times shorter
// (see Config.Compression). While a Store sends and writes copies without compression, it
// compresses a sample of the data from time to time, to find out whether compression would make
// Save faster. gorun -explain and Store.Volume report the number of bytes before and after
// compression.
//
// Unstable: any release may change this package, also after v1.
package checkpoint
