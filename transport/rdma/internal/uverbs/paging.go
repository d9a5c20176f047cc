package uverbs

import "encoding/binary"

// AccessOnDemand requests on-demand paging: the pages are faulted in when the device uses them, and
// are not pinned. A device for which OnDemand returns false may refuse AccessOnDemand, or support such
// memory in fewer operations.
const AccessOnDemand Access = 1 << 6

// The extended command that queries the limits of a device (struct ib_uverbs_cmd_hdr, struct
// ib_uverbs_ex_cmd_hdr, struct ib_uverbs_ex_query_device), and the fields of its answer that
// onDemand reads (struct ib_uverbs_ex_query_device_resp). Lengths in the header count words of
// eight bytes.
const (
	cmdExtended    = 1 << 31 // IB_USER_VERBS_CMD_FLAG_EXTENDED
	extendedHeader = 8 + 16
	extendedBody   = 8
	lengthOffset   = 180 // response_length
	pagingOffset   = 184 // odp_caps
	reliableOffset = 192 // odp_caps.per_transport_caps.rc_odp_caps
	pagingEnd      = 208
	pagingOffered  = 1 // IB_ODP_SUPPORT
	// pagingWhole contains the capabilities of a reliable connection that the device must have:
	// send, receive, write, read, and receive through a shared receive queue. Any of these
	// operations may use on-demand memory. The bits are IB_ODP_SUPPORT_SEND and the bits that
	// follow it in the enumeration, except the bit for atomics.
	pagingWhole = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<5
)

// OnDemand reports whether memory that is registered with AccessOnDemand can be used for all
// operations except atomics. It does not say whether such memory can be used for atomics.
func (c *Context) OnDemand() bool { return onDemand(c.kernel) }

// OnDemand does the same as Context.OnDemand for a device file that libibverbs has opened.
func OnDemand(fd int) bool { return onDemand(file{fd}) }

// onDemand queries the kernel. If the kernel does not support the command, no device supports
// on-demand paging, and the result is false.
func onDemand(k kernel) bool {
	in, out := make([]byte, extendedHeader+extendedBody), make([]byte, pagingEnd)
	*at[header](in, 0) = header{command: cmdExtended | cmdQueryDevice, inWords: extendedBody / 8, outWords: pagingEnd / 8}
	if k.command(in, out) != nil || binary.NativeEndian.Uint32(out[lengthOffset:]) < pagingEnd {
		return false
	}
	general, reliable := binary.NativeEndian.Uint64(out[pagingOffset:]), binary.NativeEndian.Uint32(out[reliableOffset:])
	return general&pagingOffered != 0 && reliable&pagingWhole == pagingWhole
}
