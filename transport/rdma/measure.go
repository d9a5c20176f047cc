package rdma

import (
	"fmt"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// measure is what a connection may use. Both ends compute it from the size of the
// job, so that it need not be said.
type measure struct {
	// slots is the number of frames to a peer that may be unacknowledged, a power of
	// two, and the largest window granted: a peer cannot use more.
	slots int
	// frames is the number of eager frames posted to an endpoint of which the adapter
	// is not known to be done.
	frames uint32
	// reads bounds the Reads under way each way.
	reads int
}

// manyPeers is from where on memory for each connection is kept small.
const manyPeers = 128

// measureOf returns the measure of a job with so many peers for each rank.
func measureOf(peers int) measure {
	if peers > manyPeers {
		return measure{slots: 16, frames: 12, reads: 8}
	}
	return measure{slots: 64, frames: 40, reads: readsDefault}
}

// requests is the number of requests posted to an endpoint with so many Reads.
func (m measure) requests(reads int) int { return int(m.frames) + controlFrames + reads + writesMax }

// granted is the number of eager frames that may be posted to an endpoint whose adapter has
// granted so many requests, of which it may do so many Reads. It fails if they are too few for
// a completion to come among them.
func (m *measure) granted(requests, reads int) (uint32, error) {
	frames := requests - controlFrames - reads - writesMax
	if frames < signalEvery {
		return 0, fmt.Errorf("%w: the adapter grants %d requests, a connection needs %d: choose another one by -rdma-device",
			verbs.ErrInsufficientResources, requests, requests-frames+signalEvery)
	}
	return min(uint32(frames), m.frames), nil
}
