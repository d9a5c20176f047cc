package verbs

import (
	"fmt"
	"slices"
)

// checkEndpoint validates attributes against the limits of an adapter.
func checkEndpoint(e *EndpointAttributes, l *Attributes) error {
	if !slices.Contains(l.Services, e.Service) || !slices.Contains(l.QoS, e.QoS) {
		return ErrModelNotSupported
	}
	within := func(n, limit int) bool { return n >= 0 && n <= limit }
	depth := func(n, limit int) bool { return n == DepthDefault || within(n, limit) }
	ok := within(e.MaxMessage, l.MaxMessage) && within(e.MaxRDMA, l.MaxRDMA) &&
		within(e.MaxReceives, l.MaxReceives) && within(e.MaxRequests, l.MaxRequests) &&
		within(e.MaxReceiveSegments, l.MaxSegments) && within(e.MaxRequestSegments, l.MaxSegments) &&
		within(e.MaxInline, l.MaxInline) && depth(e.ReadsIn, l.MaxReadsIn) && depth(e.ReadsOut, l.MaxReadsOut) &&
		e.ReceiveFlags <= CompletionSolicitedWait && e.RequestFlags <= CompletionUnsignalled &&
		(e.MaxInline == 0 || e.MaxRequestSegments > 0)
	if !ok {
		return ErrInvalidParameter
	}
	return nil
}

// grant lowers the requested attributes to the values that a device grants. The device may grant
// longer queues than requested, but grant never raises the lengths of queues. The reason is that
// the consumer has chosen the capacity of its completion queues for the requested lengths. If a
// requested read depth is DepthDefault, grant replaces it by the granted depth.
func grant(asked, granted *EndpointAttributes) {
	for _, n := range [][2]*int{
		{&asked.MaxRequests, &granted.MaxRequests},
		{&asked.MaxReceives, &granted.MaxReceives},
		{&asked.MaxRequestSegments, &granted.MaxRequestSegments},
		{&asked.MaxReceiveSegments, &granted.MaxReceiveSegments},
		{&asked.MaxInline, &granted.MaxInline},
	} {
		*n[0] = min(*n[0], *n[1])
	}
	for _, n := range [][2]*int{{&asked.ReadsIn, &granted.ReadsIn}, {&asked.ReadsOut, &granted.ReadsOut}} {
		if *n[0] == DepthDefault || *n[1] != DepthDefault && *n[1] < *n[0] {
			*n[0] = *n[1]
		}
	}
}

// check validates the parameters of a connection, except RetryCount, which Accept ignores.
func (p *ConnParam) check(l *Attributes, dataMax int) error {
	depth := func(n, limit int) bool { return n >= DepthDefault && n <= limit }
	if p.RNRRetryCount > retryCountMax || !depth(p.ResponderResources, l.MaxReadsIn) || !depth(p.InitiatorDepth, l.MaxReadsOut) {
		return ErrInvalidParameter
	}
	return checkPrivateData(p.PrivateData, dataMax)
}

// checkPrivateData checks that private data is no longer than the transport can carry.
func checkPrivateData(data []byte, most int) error {
	if len(data) > most {
		return fmt.Errorf("%w: private data of %d bytes, at most %d can be sent", ErrInvalidParameter, len(data), most)
	}
	return nil
}

// depth returns the first of the given depths that is not DepthDefault.
func depth(choices ...int) int {
	for _, d := range choices {
		if d != DepthDefault {
			return d
		}
	}
	return DepthDefault
}

// segmentsLength returns the total number of bytes of a list of segments.
func segmentsLength(list []Segment) int {
	n := 0
	for i := range list {
		n += len(list[i].Data)
	}
	return n
}
