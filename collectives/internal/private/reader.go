package private

import (
	"errors"
	"os"

	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

// ErrSameProcess is the error of a read from a rank that is a goroutine of this process. Such reads are
// refused because the race detector would not see them.
var ErrSameProcess = errors.New("private: the memory is in this process")

// Reader reads from processes of this process's PID namespace. The caller must make a test Read,
// which shows whether an ID names the right process in this namespace, and whether this process may read
// from that process.
type Reader struct{}

var _ node.Reader = Reader{}

// self is the ID of this process. Each call of os.Getpid would make a system call.
var self = uint64(os.Getpid())

// Process returns the ID of this process.
func (Reader) Process() uint64 { return self }

// Read copies len(dst) bytes from address addr of process p. After an error the contents of dst are
// undefined. The error is ESRCH if the process has ended, even if another process has its ID now.
func (Reader) Read(p node.Process, addr uint64, dst []byte) error {
	if p.ID == self {
		return ErrSameProcess
	}
	return read(p, addr, dst)
}
