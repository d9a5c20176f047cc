package iwarp

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
)

const (
	// recordHead is the length of the header of a TLS record (RFC 8446 section 5.1).
	// recordHandshake is the type of a record that contains a part of a handshake.
	recordHead      = 5
	recordHandshake = 22
	// helloMax is the maximum length of the first TLS record of a connection. The first record of a
	// rank has about 1600 bytes.
	helloMax = 4096
)

// collect reads the first record of the active side, and no byte after this record. As long as the
// record is incomplete, collect returns mpa.ErrShort.
func (s *sealed) collect() error {
	for !s.heard {
		want := recordHead
		if len(s.ahead) >= recordHead {
			n := int(binary.BigEndian.Uint16(s.ahead[3:]))
			if s.ahead[0] != recordHandshake || s.ahead[1] != 3 || n > helloMax {
				return fmt.Errorf("%w: the first bytes are not a TLS record", ErrNotSealed)
			}
			want += n
		}
		if want == len(s.ahead) {
			s.heard = true
			return nil
		}
		at := len(s.ahead)
		s.ahead = append(s.ahead, make([]byte, want-at)...)
		n, errno := receive(s.fd, s.ahead[at:])
		s.ahead = s.ahead[:at+max(n, 0)]
		switch {
		case errno == unix.EINTR:
		case errno == unix.EAGAIN:
			return mpa.ErrShort
		case errno != 0:
			return fmt.Errorf("%w: %w", ErrHungUp, systemError("receive", errno))
		case n == 0:
			return ErrHungUp
		}
	}
	return nil
}
