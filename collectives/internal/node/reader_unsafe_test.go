package node_test

import (
	"syscall"
	"unsafe"

	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

// ownMemory is the Reader of members that are goroutines of this process. The race detector sees
// its copies.
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

// wordOf returns the word of shared memory at an offset.
func wordOf(part []byte, off int) *node.Word { return (*node.Word)(unsafe.Pointer(&part[off])) }
