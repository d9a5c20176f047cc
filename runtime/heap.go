package runtime

import (
	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/internal/hugepages"
	"github.com/gorun-hpc/gorun/internal/toggle"
)

// crowdMost is the largest number of ranks per processor at which ranks prepare their heaps. If more ranks share a
// processor, the time and the memory of all preparations would outweigh the faster messages (docs/adr/0068).
const crowdMost = 4

// prepareHeap begins to make huge pages of the part of the heap from which the program gets its first slices. It does
// so only if other ranks of the node may read these slices with process_vm_readv(2). Meanwhile the rank can join the
// job. The result finish is a function that waits until the pages have been made. The heap of a survivor is in use, and
// is not prepared again. life is nil for a rank that is a process of its own.
func prepareHeap(job bootstrap.Job, role Role, life *localProcess) (finish func()) {
	reads, err := toggle.Of(envCMA, true)
	if !reads || err != nil || life != nil || role == Survivor || job.LocalSize < 2 || job.LocalSize > crowdMost*job.Processors {
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
