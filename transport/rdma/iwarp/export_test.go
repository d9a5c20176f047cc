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

// Cut breaks the TCP connection of the queue pair with this local address, so that both ends see a failure. Cut
// reports whether it has broken a connection.
func Cut(d provider.Device, local netip.AddrPort) bool {
	for p := range d.(*device).pairs {
		if p.local == local {
			// disconnect resets the connection and keeps the descriptor.
			return disconnect(p.fd) == nil
		}
	}
	return false
}

// ReadsUnderWay returns the number of outstanding Reads of the queue pair with these addresses.
func ReadsUnderWay(d provider.Device, local, remote netip.AddrPort) int {
	for p := range d.(*device).pairs {
		if p.local == local && p.remote == remote {
			return p.tx.outbound.Len()
		}
	}
	return 0
}

// PresetMSN sets the number (MSN) of the next Send in both directions.
func PresetMSN(d provider.Device, local netip.AddrPort, msn uint32) {
	for p := range d.(*device).pairs {
		if p.local == local {
			p.tx.msn[rdmap.QueueSend] = msn
			p.rx.queues[rdmap.QueueSend] = ddp.NewQueue(msn)
		}
	}
}

// Open returns the number of sockets that the queue pairs and the goodbyes of a device have.
func Open(d provider.Device) int { return len(d.(*device).pairs) + len(d.(*device).goodbyes) }

// disconnect calls connect(2) with AF_UNSPEC. It makes a raw system call, because package x/sys/unix
// has no type for this address.
func disconnect(fd int) error {
	var a unix.RawSockaddr
	if _, _, errno := syscall.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&a)), unsafe.Sizeof(a)); errno != 0 {
		return errno
	}
	return nil
}

// RawReceive makes the system call by which the provider receives data.
func RawReceive(fd int, p []byte) (int, syscall.Errno) { return receive(fd, p) }

// RawSend makes the system call by which the provider sends data. RawSend does not wait.
func RawSend(fd int, p []byte) (int, syscall.Errno) { return send(fd, &p[0], len(p)) }

// SpoilEpoll makes every later use of the device's epoll fail, until the returned function is called.
func SpoilEpoll(d provider.Device) (restore func()) {
	good := d.(*device).epoll
	d.(*device).epoll = -1
	return func() { d.(*device).epoll = good }
}

// SetReceiveBuffer sets the size in bytes of the receive buffer of the queue pair with this local address. It needs
// a privilege.
func SetReceiveBuffer(d provider.Device, local netip.AddrPort, n int) error {
	for p := range d.(*device).pairs {
		if p.local == local {
			return unix.SetsockoptInt(p.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, n)
		}
	}
	return unix.ENOENT
}
