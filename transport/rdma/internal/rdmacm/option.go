package rdmacm

import "encoding/binary"

// SetTypeOfService sets the traffic class of the connection (RDMA_OPTION_ID_TOS). The caller must
// call it before ResolveRoute.
func (id *ID) SetTypeOfService(tos uint8) error {
	return id.setOption("set type of service", optionTOS, []byte{tos})
}

// SetReuseAddress lets Bind succeed even if other ids are bound to the address, provided that all of
// them have set this option and none of them listens (RDMA_OPTION_ID_REUSEADDR).
func (id *ID) SetReuseAddress(on bool) error {
	return id.setOption("set reuse address", optionReuseAddress, integer(on))
}

// SetFamilyOnly restricts a listener on an IPv6 address to IPv6: the listener gets no requests over
// IPv4 (RDMA_OPTION_ID_AFONLY).
func (id *ID) SetFamilyOnly(on bool) error {
	return id.setOption("set family only", optionFamilyOnly, integer(on))
}

// SetAckTimeout sets the time for which the queue pair waits for an acknowledgement: 4.096 us *
// 2^n (RDMA_OPTION_ID_ACK_TIMEOUT). n is at most 31.
func (id *ID) SetAckTimeout(n uint8) error {
	return id.setOption("set ack timeout", optionAckTimeout, []byte{n})
}

// integer returns a boolean as an int of C, in the byte order of this machine.
func integer(on bool) []byte {
	return binary.NativeEndian.AppendUint32(nil, uint32(flag(on)))
}

func (id *ID) setOption(op string, name uint32, value []byte) error {
	body := words(make([]byte, optionSize))
	body.put32(optionLevel, levelID)
	body.put32(optionName, name)
	body.put32(optionLength, uint32(len(value)))
	return id.do(op, optionID, &Command{Number: commandSetOption, Body: body, Memory: value, Pointer: optionValue})
}
