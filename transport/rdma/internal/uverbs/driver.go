package uverbs

// driver is what differs between the devices: the driver's part of the answers, and the
// layout of its queues. A library that has its own queues would be another one.
type driver interface {
	// abi is the version of the queues that it knows.
	abi() int
	// rooms are the bytes of the driver's part of the answers.
	rooms() rooms
	// region is what the driver is told with a registration, which is the n-th one.
	region(n uint8) []byte
	// completions, pair and shared map the queues that an answer names.
	completions(m *mapping, c *CompletionQueue, part []byte) (completions, error)
	pair(m *mapping, q *QueuePair, part []byte) (sends, receives, error)
	shared(m *mapping, s *SharedReceiveQueue, part []byte) (receives, error)
}

// rooms are sizes of the driver's part of answers, in bytes.
type rooms struct{ context, region, completions, pair, shared int }

// sends is the send queue in mapped memory.
type sends interface {
	// post stores requests until one does not fit (ErrFull) or cannot be carried out
	// (ErrRequest), and returns how many it has stored.
	post(list []SendRequest) (int, error)
	// capacity is how many requests fit.
	capacity() int
}

// receives is a receive queue in mapped memory.
type receives interface {
	post(list []ReceiveRequest) (int, error)
	capacity() int
}

// completions is a completion queue in mapped memory.
type completions interface {
	// poll takes completions and returns how many.
	poll(out []Completion) int
	// arm asks for an event of the channel at the next completion. It reports whether that
	// was all; otherwise the kernel has to be asked.
	arm(solicitedOnly bool) bool
	capacity() int
}

// driverOf returns what knows the queues of a device, or nil.
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

// Drives reports whether Open drives a device: the layout of its queues is known.
func Drives(d *Device) bool {
	known := driverOf(d.Driver)
	return known != nil && known.abi() == d.ABI
}

// mapping is the memory that one object shares with the driver.
type mapping struct {
	kernel kernel
	pieces [][]byte
}

// add maps a piece.
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

// close unmaps all.
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

// isPowerOfTwo reports whether a size of a queue is one that can be masked.
func isPowerOfTwo(n uint32) bool { return n != 0 && n&(n-1) == 0 }

// maxEntries bounds what an answer may say of a queue's size.
const maxEntries = 1 << 24
