package rdmacm

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Parameters are the parameters of Connect, of Accept and of events (struct rdma_conn_param).
//
// In an event, PrivateData may end with zeros that the peer did not send. On InfiniBand and RoCE,
// PrivateData always has 56 bytes in a request, 196 bytes in a reply, and 148 bytes in a rejection.
// In a ConnectRequest, ResponderResources and InitiatorDepth are from the point of view of this
// side. In the event Established on iWARP the two numbers are swapped. In the event Established of
// the passive side on InfiniBand and RoCE both numbers are 0.
type Parameters struct {
	PrivateData []byte
	// QPNumber is the number of the queue pair. Only its low 24 bits are used.
	QPNumber uint32
	// ResponderResources is the maximum number of Reads of the peer that this side serves at a time.
	// InitiatorDepth is the maximum number of Reads that this side has in flight at a time.
	ResponderResources, InitiatorDepth uint8
	FlowControl                        bool
	RetryCount, RNRRetryCount          uint8
	// SRQ reports whether the queue pair has a shared receive queue.
	SRQ bool
}

// dataTooLong returns the error for n bytes of private data, where n exceeds PrivateDataMax.
func dataTooLong(n int) error {
	return fmt.Errorf("%w: private data of %d bytes, at most %d", unix.EINVAL, n, PrivateDataMax)
}

// encode writes a struct rdma_ucm_conn_param.
func (p *Parameters) encode(to words) error {
	if len(p.PrivateData) > PrivateDataMax {
		return dataTooLong(len(p.PrivateData))
	}
	to.put32(parametersQPNumber, p.QPNumber)
	copy(to[parametersData:parametersLength], p.PrivateData)
	to[parametersLength] = uint8(len(p.PrivateData))
	to[parametersSRQ] = flag(p.SRQ)
	to[parametersResources], to[parametersDepth] = p.ResponderResources, p.InitiatorDepth
	to[parametersFlow] = flag(p.FlowControl)
	to[parametersRetry], to[parametersRNRRetry] = p.RetryCount, p.RNRRetryCount
	to[parametersValid] = 1
	return nil
}

// decode reads a struct rdma_ucm_conn_param.
func (p *Parameters) decode(from words) {
	*p = Parameters{
		PrivateData:        append([]byte{}, from[parametersData:parametersData+int(from[parametersLength])]...),
		QPNumber:           from.at32(parametersQPNumber),
		ResponderResources: from[parametersResources], InitiatorDepth: from[parametersDepth],
		FlowControl: from[parametersFlow] != 0,
		RetryCount:  from[parametersRetry], RNRRetryCount: from[parametersRNRRetry],
		SRQ: from[parametersSRQ] != 0,
	}
}
