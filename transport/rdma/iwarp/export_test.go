package iwarp

import (
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// Cut breaks the TCP connection of the queue pair with that local end: both ends see
// it fail. It reports whether there is one.
func Cut(d provider.Device, local netip.AddrPort) bool {
	for p := range d.(*device).pairs {
		if p.local == local {
			// It resets the connection and keeps the descriptor.
			return disconnect(p.fd) == nil
		}
	}
	return false
}

// ReadsUnderWay returns how many Reads the queue pair with those ends has under way.
func ReadsUnderWay(d provider.Device, local, remote netip.AddrPort) int {
	for p := range d.(*device).pairs {
		if p.local == local && p.remote == remote {
			return p.tx.outbound.Len()
		}
	}
	return 0
}

// PresetMSN changes the number of the next Send, outbound and inbound.
func PresetMSN(d provider.Device, local netip.AddrPort, msn uint32) {
	for p := range d.(*device).pairs {
		if p.local == local {
			p.tx.msn[rdmap.QueueSend] = msn
			p.rx.queues[rdmap.QueueSend] = ddp.NewQueue(msn)
		}
	}
}

// Open returns how many sockets a device has, service points not counted.
func Open(d provider.Device) int { return len(d.(*device).pairs) + len(d.(*device).goodbyes) }

// disconnect is connect(2) with AF_UNSPEC, for which x/sys has no address.
func disconnect(fd int) error {
	var a unix.RawSockaddr
	if _, _, errno := syscall.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&a)), unsafe.Sizeof(a)); errno != 0 {
		return errno
	}
	return nil
}

// RawReceive and RawSend are the system calls of the data path.
func RawReceive(fd int, p []byte) (int, syscall.Errno) { return receive(fd, p) }

// RawSend writes without waiting.
func RawSend(fd int, p []byte) (int, syscall.Errno) { return send(fd, &p[0], len(p)) }
