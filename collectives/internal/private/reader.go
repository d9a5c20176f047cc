package private

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// ErrSameProcess refuses to read from ranks that are goroutines of this process:
// the race detector would not see it.
var ErrSameProcess = errors.New("private: the memory is in this process")

// Reader reads from processes of this process's id namespace. Whether an id names
// the right process there, and may be read, is for the caller to try.
type Reader struct{}

// Process returns the id of this process.
func (Reader) Process() uint64 { return uint64(os.Getpid()) }

// Read copies len(dst) bytes at an address of a process. On an error dst holds
// anything.
func (Reader) Read(process, addr uint64, dst []byte) error {
	if process == uint64(os.Getpid()) {
		return ErrSameProcess
	}
	return read(int(process), addr, dst)
}

// read reads from any process. The kernel copies less than it is asked for when a
// page is missing, or beyond 2 GiB.
func read(process int, addr uint64, dst []byte) error {
	for len(dst) > 0 {
		local := unix.Iovec{Base: &dst[0]}
		local.SetLen(len(dst))
		n, err := unix.ProcessVMReadv(process, []unix.Iovec{local},
			[]unix.RemoteIovec{{Base: uintptr(addr), Len: len(dst)}}, 0)
		switch {
		case err != nil:
			return fmt.Errorf("process_vm_readv from process %d: %w", process, err)
		case n <= 0:
			return fmt.Errorf("process_vm_readv from process %d: %w", process, io.ErrUnexpectedEOF)
		}
		dst, addr = dst[n:], addr+uint64(n)
	}
	return nil
}
