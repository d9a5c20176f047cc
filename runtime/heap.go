package runtime

import (
	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/internal/hugepages"
)

// crowdMost is the largest number of ranks per processor at which ranks prepare their heaps. If more ranks share a
// processor, the time and the memory of all preparations would outweigh the faster messages (docs/adr/0068).
const crowdMost = 4

// prepareHeap begins to make huge pages of the part of the heap from which the program gets its first slices, if
// other ranks of the node may read these slices with process_vm_readv(2). Meanwhile the rank can join the job. The
// function that prepareHeap returns waits for the end. life is nil for a rank that is a process of its own.
func prepareHeap(job bootstrap.Job, life *localProcess) (finish func()) {
	if life != nil || job.LocalSize < 2 || job.LocalSize > crowdMost*job.Processors {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		hugepages.PrepareHeap()
		close(done)
	}()
	return func() {
		<-done
		hugepages.PreferHeap() // the heap may have grown
	}
}
