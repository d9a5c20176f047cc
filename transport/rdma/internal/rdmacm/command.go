package rdmacm

import "encoding/binary"

// Driver is what carries out commands: the kernel's file, or a test's.
type Driver interface {
	// Do carries out a command. It may be called from several goroutines.
	Do(c *Command) error
	// Ready reports whether there may be an event. It is cheap, and allocates nothing.
	Ready() bool
	// Descriptor is readable while there are events.
	Descriptor() int
	// Close ends every id. Commands under way may outlast it.
	Close() error
}

// Command is one command of the ABI.
type Command struct {
	// Number is RDMA_USER_CM_CMD_*.
	Number uint32
	// Body is what follows the header.
	Body []byte
	// Memory, if any, is where the answer goes, or where an option's value is. Its address
	// belongs at offset Pointer of Body.
	Memory  []byte
	Pointer int
	// Answers says that Memory is for the answer.
	Answers bool
}

// words writes the numbers of a command in the order of this machine.
type words []byte

func (w words) put16(at int, v uint16) { binary.NativeEndian.PutUint16(w[at:], v) }
func (w words) put32(at int, v uint32) { binary.NativeEndian.PutUint32(w[at:], v) }
func (w words) put64(at int, v uint64) { binary.NativeEndian.PutUint64(w[at:], v) }
func (w words) at16(at int) uint16     { return binary.NativeEndian.Uint16(w[at:]) }
func (w words) at32(at int) uint32     { return binary.NativeEndian.Uint32(w[at:]) }
func (w words) at64(at int) uint64     { return binary.NativeEndian.Uint64(w[at:]) }

// flag is a byte of C that is true or false.
func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}
