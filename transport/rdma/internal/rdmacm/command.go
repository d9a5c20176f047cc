package rdmacm

import "encoding/binary"

// Driver carries out commands. It is the device file of the kernel, or a fake in a test.
type Driver interface {
	// Do carries out a command. It may be called from several goroutines.
	Do(c *Command) error
	// Ready reports whether there may be an event. A call of Ready costs little, and allocates no
	// memory.
	Ready() bool
	// Descriptor returns a file descriptor that is readable while there are events.
	Descriptor() int
	// Close ends every id. It does not wait for commands in other goroutines: the ids end after these
	// commands.
	Close() error
}

// Command is one command of the ABI.
type Command struct {
	// Number is RDMA_USER_CM_CMD_*.
	Number uint32
	// Body contains the bytes of the command after the header.
	Body []byte
	// Memory receives the answer. Memory is empty if the command has no answer. The driver writes
	// the address of Memory into its copy of Body, at the offset Pointer.
	Memory  []byte
	Pointer int
}

// words reads and writes the numbers of a command in the byte order of this machine.
type words []byte

func (w words) put16(at int, v uint16) { binary.NativeEndian.PutUint16(w[at:], v) }
func (w words) put32(at int, v uint32) { binary.NativeEndian.PutUint32(w[at:], v) }
func (w words) put64(at int, v uint64) { binary.NativeEndian.PutUint64(w[at:], v) }
func (w words) at16(at int) uint16     { return binary.NativeEndian.Uint16(w[at:]) }
func (w words) at32(at int) uint32     { return binary.NativeEndian.Uint32(w[at:]) }
func (w words) at64(at int) uint64     { return binary.NativeEndian.Uint64(w[at:]) }

// flag returns a boolean as a byte of the ABI.
func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}
