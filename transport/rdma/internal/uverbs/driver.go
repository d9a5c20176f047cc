package uverbs

// driver contains what differs between the drivers of the kernel: the driver's part of commands and
// answers, and the layout of the driver's queues.
type driver interface {
	// abi returns the version of the queue layout that the implementation supports.
	abi() int
	// rooms returns the sizes of the driver's parts of the answers.
	rooms() rooms
	// region returns the driver's part of the command that registers memory. n is the low byte of
	// the number of the registration.
	region(n uint8) []byte
	// completions, pair and shared map the queues of a new object. The argument part, the driver's
	// part of the answer, describes them.
	completions(m *mapping, c *CompletionQueue, part []byte) (completions, error)
	pair(m *mapping, q *QueuePair, part []byte) (sends, receives, error)
	shared(m *mapping, s *SharedReceiveQueue, part []byte) (receives, error)
}

// rooms contains the sizes of the driver's parts of the answers, in bytes.
type rooms struct{ context, region, completions, pair, shared int }

// sends is the send queue in mapped memory.
type sends interface {
	// post stores requests in the queue and returns the number of stored requests. It stops at the
	// first request that does not fit (ErrFull) or that cannot be carried out (ErrRequest).
	post(list []SendRequest) (int, error)
	// capacity returns the number of requests for which the queue has room.
	capacity() int
}

// receives is a receive queue in mapped memory.
type receives interface {
	post(list []ReceiveRequest) (int, error)
	capacity() int
}

// completions is a completion queue in mapped memory.
type completions interface {
	// poll moves completions to out and returns their number.
	poll(out []Completion) int
	// arm requests an event in the channel at the next completion. It returns false if only a
	// command to the kernel can request the event. In this case the caller has to send this command.
	arm() bool
	capacity() int
}

// driverOf returns the implementation for a driver of the kernel, or nil if this package has no
// implementation for the driver.
func driverOf(d Driver) driver {
	switch d {
	case DriverSIW:
		return siw{}
	case DriverRXE:
		return rxe{}
	default:
		return nil
	}
}

// Drives reports whether this package knows the layout of the device's queues. Open refuses all other
// devices with ErrUnknownDriver.
func Drives(d *Device) bool {
	known := driverOf(d.Driver)
	return known != nil && known.abi() == d.ABI
}

// mapping is the memory that one object shares with the driver.
type mapping struct {
	kernel kernel
	pieces [][]byte
}

// add maps length bytes at an offset of the device file.
func (m *mapping) add(offset uint64, length int) ([]byte, error) {
	if length <= 0 || int64(offset) < 0 {
		return nil, nonsense("a queue of %d bytes at %#x", length, offset)
	}
	b, err := m.kernel.mapQueue(int64(offset), length)
	if err != nil {
		return nil, err
	}
	m.pieces = append(m.pieces, b)
	return b, nil
}

// close unmaps all pieces.
func (m *mapping) close() error {
	var first error
	for _, b := range m.pieces {
		if err := m.kernel.unmap(b); err != nil && first == nil {
			first = err
		}
	}
	m.pieces = nil
	return first
}

// isPowerOfTwo reports whether n is a power of two. In a queue of n entries, the index of an entry can
// then be computed by a bit mask.
func isPowerOfTwo(n uint32) bool { return n != 0 && n&(n-1) == 0 }

// maxEntries bounds the number of entries of a queue in requests and answers.
const maxEntries = 1 << 24
