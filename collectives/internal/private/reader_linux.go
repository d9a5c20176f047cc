package private

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

// read does the work of Reader.Read. In contrast to Reader.Read, it accepts this process as p. If the
// kernel has copied only a part of the bytes, read repeats the system call for the rest. The kernel copies
// only a part if a page is missing, or if more than callMost bytes are requested.
func read(p node.Process, addr uint64, dst []byte) error {
	for {
		n, cookie, err := copyFrom(p, addr, dst)
		whole := n == len(dst)+cookieBytes
		data := min(n, len(dst)) // the rest is a part of the cookie
		switch {
		case err == nil && whole && cookie == p.Cookie:
			return nil
		case err == nil && !whole && data > 0:
			dst, addr = dst[data:], addr+uint64(data)
			continue
		case err == nil && !whole:
			err = io.ErrUnexpectedEOF
		case err == nil || errors.Is(err, unix.EFAULT) && len(dst) == 0:
			err = fmt.Errorf("%w: another process has its id", unix.ESRCH)
		case errors.Is(err, unix.EFAULT):
			if stranger := read(p, addr, nil); stranger != nil {
				return stranger
			}
		}
		return fmt.Errorf("process_vm_readv from process %d: %w", p.ID, err)
	}
}

// cookieBytes is the length of the word that identifies a process.
const cookieBytes = 8

// callMost is the largest number of bytes that the kernel copies in one call, with pages of 4 KiB (MAX_RW_COUNT in
// include/linux/fs.h).
const callMost = 1<<31 - 4<<10

// copyFrom makes one system call, which copies from process p first the data and then the cookie, the
// word that identifies the process. The data and the cookie come from the same process, because the
// kernel looks up the process ID only once. n is the number of bytes that were copied, the cookie
// included.
func copyFrom(p node.Process, addr uint64, dst []byte) (n int, cookie uint64, err error) {
	var word [cookieBytes]byte
	to := [...]unix.Iovec{{}, {Base: &word[0]}}
	to[1].SetLen(len(word))
	if len(dst) > 0 {
		to[0].Base = &dst[0]
		to[0].SetLen(len(dst))
	}
	from := [...]unix.RemoteIovec{{Base: uintptr(addr), Len: len(dst)}, {Base: uintptr(p.CookieAt), Len: len(word)}}
	n, err = unix.ProcessVMReadv(int(p.ID), to[:], from[:], 0)
	return n, binary.NativeEndian.Uint64(word[:]), err
}
