package uverbs

import (
	goruntime "runtime"

	"golang.org/x/sys/unix"
)

// kernel has the operations of a device file that a context needs. Tests implement the operations
// without a device.
type kernel interface {
	// command carries out one command. If the command has an answer, the kernel writes it into
	// out. The kernel does not report the number of bytes that it wrote.
	command(in, out []byte) error
	// ring carries out a command that does not sleep. The command already contains the address of
	// the memory for its answer.
	ring(in []byte) error
	// mapQueue maps memory that the driver shares.
	mapQueue(offset int64, length int) ([]byte, error)
	unmap(b []byte) error
	close() error
}

// file is a device file.
type file struct{ fd int }

func (f file) command(in, out []byte) error {
	// The command contains the address of the memory out as an integer, and an integer does not
	// keep memory reachable. The Pinner keeps the memory reachable and at its address.
	var pin goruntime.Pinner
	defer pin.Unpin()
	if len(out) > 0 {
		pin.Pin(&out[0])
		setResponse(in, out)
	}
	for {
		_, err := unix.Write(f.fd, in)
		if err != unix.EINTR {
			return err
		}
	}
}

func (f file) ring(in []byte) error {
	if errno := ring(f.fd, in); errno != 0 {
		return errno
	}
	return nil
}

func (f file) mapQueue(offset int64, length int) ([]byte, error) {
	return unix.Mmap(f.fd, offset, length, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

func (f file) unmap(b []byte) error { return unix.Munmap(b) }

func (f file) close() error { return unix.Close(f.fd) }
