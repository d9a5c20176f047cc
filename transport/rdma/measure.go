package rdma

import (
	"fmt"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// measure holds the limits of a connection. Both ends compute the limits from the size of the job,
// so that the limits need no negotiation.
type measure struct {
	// slots is the maximum number of unacknowledged frames to a peer, a power of two. It is also
	// the largest window that is granted, because a peer with as many slots cannot use a larger
	// window.
	slots int
	// frames is the maximum number of eager frames that are posted to an endpoint and not known to
	// be complete.
	frames uint32
	// reads is the maximum number of Reads in flight in each direction.
	reads int
}

// manyPeers is the number of peers above which the memory for each connection is kept small.
const manyPeers = 128

// measureOf returns the limits for a job in which each rank has the given number of peers.
func measureOf(peers int) measure {
	if peers > manyPeers {
		return measure{slots: 16, frames: 12, reads: 8}
	}
	return measure{slots: 64, frames: 40, reads: readsDefault}
}

// requests returns the maximum number of requests that are posted to an endpoint at a time. reads
// is the maximum number of Reads among them.
func (m measure) requests(reads int) int { return int(m.frames) + controlFrames + reads + writesMax }

// granted returns the number of eager frames that may be posted to an endpoint. The argument
// requests is the number of requests that the adapter has granted for the endpoint; the argument
// reads is the number of Reads among them. granted fails if fewer than signalEvery frames could be
// posted, because then possibly none of the posted frames requests a completion.
func (m *measure) granted(requests, reads int) (uint32, error) {
	frames := requests - controlFrames - reads - writesMax
	if frames < signalEvery {
		return 0, fmt.Errorf("%w: the adapter grants %d requests, a connection needs %d: choose another one by -rdma-device",
			verbs.ErrInsufficientResources, requests, requests-frames+signalEvery)
	}
	return min(uint32(frames), m.frames), nil
}
