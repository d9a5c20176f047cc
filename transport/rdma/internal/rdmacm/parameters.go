package rdmacm

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Parameters are those of Connect, Accept and the events (struct rdma_conn_param).
//
// In an event, PrivateData may have zeros at its end that the peer did not send (on
// InfiniBand and RoCE it is 56 bytes of a request, 196 of an answer, 148 of a rejection).
// ResponderResources and InitiatorDepth of a ConnectRequest are in the terms of this side;
// those of an Established are exchanged on iWARP, and zero on the passive side elsewhere.
type Parameters struct {
	PrivateData []byte
	// QPNumber is that of the queue pair. 24 bits of it count.
	QPNumber uint32
	// ResponderResources is how many Reads of the peer this side serves at a time,
	// InitiatorDepth how many it has under way.
	ResponderResources, InitiatorDepth uint8
	FlowControl                        bool
	RetryCount, RNRRetryCount          uint8
	// SRQ says that the queue pair has a shared receive queue.
	SRQ bool
}

// dataTooLong is the error of private data that the ABI has no room for.
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

// decode reads one.
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
