package node_test

import (
	"syscall"
	"unsafe"

	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

// ownMemory is the Reader of members that are goroutines of this process. It
// copies in sight of the race detector.
type ownMemory struct{}

func (ownMemory) Process() uint64 { return 1 }

func (ownMemory) Read(p node.Process, addr uint64, dst []byte) error {
	if p.ID != 1 || *(*uint64)(*(*unsafe.Pointer)(unsafe.Pointer(&p.CookieAt))) != p.Cookie {
		return syscall.ESRCH
	}
	from := *(*unsafe.Pointer)(unsafe.Pointer(&addr))
	copy(dst, unsafe.Slice((*byte)(from), len(dst)))
	return nil
}

// wordOf returns a word of shared memory.
func wordOf(part []byte, off int) *node.Word { return (*node.Word)(unsafe.Pointer(&part[off])) }
