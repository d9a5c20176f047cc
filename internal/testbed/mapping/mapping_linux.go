// Package mapping reads from the kernel how it maps the memory of the test process.
package mapping

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrNoHugePages means that the kernel makes no huge pages for programs that ask for them, or that smaps (proc(5))
// does not show the request of a program.
var ErrNoHugePages = errors.New("needs transparent huge pages (/sys/kernel/mm/transparent_hugepage/enabled), no emulator")

// HugePages returns ErrNoHugePages if the kernel makes no huge pages, or if Of does not report that a program has
// asked for them.
func HugePages() error {
	enabled, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil || strings.Contains(string(enabled), "[never]") {
		return ErrNoHugePages
	}
	b, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Munmap(b) }()
	if unix.Madvise(b, unix.MADV_HUGEPAGE) != nil {
		return ErrNoHugePages
	}
	if p, err := Of(reflect.ValueOf(b).Pointer()); err != nil || !p.Advised {
		return ErrNoHugePages
	}
	return nil
}

// Pages describes the pages of a mapping, see smaps in proc(5).
type Pages struct {
	Advised bool // the process has asked for huge pages (flag hg in the line VmFlags)
	Huge    int  // size of the mapping's huge pages in KiB (line AnonHugePages)
}

// Of returns the pages of the mapping that contains an address.
func Of(address uintptr) (p Pages, err error) {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return p, err
	}
	defer func() { _ = f.Close() }()
	found := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		var from, to uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &from, &to); n == 2 {
			found = from <= address && address < to
		}
		if !found {
			continue
		}
		_, _ = fmt.Sscanf(line, "AnonHugePages: %d kB", &p.Huge)
		if flags, last := strings.CutPrefix(line, "VmFlags:"); last {
			p.Advised = slices.Contains(strings.Fields(flags), "hg")
			return p, nil
		}
	}
	return p, fmt.Errorf("no mapping of %#x in /proc/self/smaps", address)
}
