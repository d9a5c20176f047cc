package uverbs

import "encoding/binary"

// AccessOnDemand asks for pages that are brought in while they are used, in place of pages that
// are pinned. Devices without OnDemand refuse it.
const AccessOnDemand Access = 1 << 6

// The extended command that asks for the limits of a device (struct ib_uverbs_cmd_hdr, struct
// ib_uverbs_ex_cmd_hdr, struct ib_uverbs_ex_query_device), and what is read of its answer (struct
// ib_uverbs_ex_query_device_resp). Lengths count words of eight bytes.
const (
	cmdExtended    = 1 << 31 // IB_USER_VERBS_CMD_FLAG_EXTENDED
	extendedHeader = 8 + 16
	extendedBody   = 8
	lengthOffset   = 180 // response_length
	pagingOffset   = 184 // odp_caps
	reliableOffset = 192 // odp_caps.per_transport_caps.rc_odp_caps
	pagingEnd      = 208
	pagingOffered  = 1 // IB_ODP_SUPPORT
	// pagingWhole are the bits of what a reliable connection has to be able to do with memory
	// of which it is not known what it is used for: send, receive, write, read, and receive by
	// a shared queue (IB_ODP_SUPPORT_SEND and those that follow it).
	pagingWhole = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<5
)

// OnDemand reports whether memory can be registered with AccessOnDemand and used as any other.
func (c *Context) OnDemand() bool { return onDemand(c.kernel) }

// OnDemand reports it of the open device file of a library.
func OnDemand(fd int) bool { return onDemand(file{fd}) }

// onDemand asks the kernel. One that does not know the command has no such devices.
func onDemand(k kernel) bool {
	in, out := make([]byte, extendedHeader+extendedBody), make([]byte, pagingEnd)
	*at[header](in, 0) = header{command: cmdExtended | cmdQueryDevice, inWords: extendedBody / 8, outWords: pagingEnd / 8}
	if k.command(in, out) != nil || binary.NativeEndian.Uint32(out[lengthOffset:]) < pagingEnd {
		return false
	}
	general, reliable := binary.NativeEndian.Uint64(out[pagingOffset:]), binary.NativeEndian.Uint32(out[reliableOffset:])
	return general&pagingOffered != 0 && reliable&pagingWhole == pagingWhole
}
