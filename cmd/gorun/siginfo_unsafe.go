package main

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// childInfo is the part of siginfo_t that waitid(2) fills, on 64-bit Linux.
type childInfo struct {
	_   [4]int32 // signo, errno, code, padding
	pid int32
}

// childPID returns the process that waitid(2) found.
func childPID(info *unix.Siginfo) int {
	return int((*childInfo)(unsafe.Pointer(info)).pid)
}
