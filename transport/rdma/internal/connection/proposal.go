package connection

import (
	"bytes"
	"math"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/rdmacm"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// How much private data there is room for. InfiniBand's are those of the messages REQ (of
// whose 92 bytes the kernel takes 36), REP and REJ. siw counts in 8 bits what it sends, with
// 4 bytes of its own.
const (
	requestDataMax = 56
	acceptDataMax  = 196
	rejectDataMax  = 148
	iwarpDataMax   = 251
)

// refusal is the private data of a rejection that is not the consumer's.
var refusal = []byte("gorun refuses\x00\xff\x01")

// isRefusal reports whether a rejection is none of a consumer. InfiniBand pads it.
func isRefusal(privateData []byte) bool {
	rest, ok := bytes.CutPrefix(privateData, refusal)
	return ok && len(bytes.TrimRight(rest, "\x00")) == 0
}

// depth is a number of Reads as the kernel takes it. 255 would mean the device's own.
func depth(n int) uint8 { return uint8(min(max(n, 0), math.MaxUint8-1)) }

// request is what the active side proposes, in its terms; the event has those of this side.
// iWARP has no depths in its first revision, and the kernel says 0 then.
func (d *Device) request(p *rdmacm.Parameters) *provider.Proposal {
	q := &provider.Proposal{
		PrivateData: p.PrivateData, FlowControl: p.FlowControl, RetryCount: p.RetryCount, RNRRetryCount: p.RNRRetryCount,
		ResponderResources: int(p.InitiatorDepth), InitiatorDepth: int(p.ResponderResources),
	}
	if d.IWARP && p.InitiatorDepth == 0 && p.ResponderResources == 0 {
		q.ResponderResources, q.InitiatorDepth = provider.DepthDefault, provider.DepthDefault
	}
	return q
}

// answer is what the passive side answers, in its terms. The event has those of this side
// on InfiniBand. On iWARP it has what this side may have under way in the place of what it
// serves (cma_iw_handler), which is how the passive side would say it.
func (d *Device) answer(p *rdmacm.Parameters) *provider.Proposal {
	q := &provider.Proposal{
		PrivateData: p.PrivateData, FlowControl: p.FlowControl, RNRRetryCount: p.RNRRetryCount,
		ResponderResources: int(p.InitiatorDepth), InitiatorDepth: int(p.ResponderResources),
	}
	if d.IWARP {
		q.ResponderResources, q.InitiatorDepth = int(p.ResponderResources), int(p.InitiatorDepth)
	}
	return q
}
