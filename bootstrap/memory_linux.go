package bootstrap

import (
	"errors"
	"fmt"
	"math/bits"
	"os"

	"golang.org/x/sys/unix"
)

const (
	// nodeBytesMaxBits bounds the node memory to 1<<45 bytes, because a rank maps all of the node memory, and
	// the address space of a process has 47 bits.
	nodeBytesMaxBits = 45
	// allBytesMaxBits bounds the sum of the node memories of all generations of a job, because a process
	// keeps all of them mapped.
	allBytesMaxBits = 46
	// rangeBytesMin is the smallest useful range of a rank, including headers
	// and rings.
	rangeBytesMin = 4 << 20
)

// NodeMemory makes the memory that the ranks of a node share, and returns its file and the number of bytes
// per rank. The file is a sparse memfd with one range per rank. The kernel allocates each page at the first
// access. The memfd has no file name that could remain after the job. The size of the file is sealed, so that
// no rank can shrink it and cause a SIGBUS in other ranks. The length of a range is a power of two. A range is
// about as long as the machine's memory. It is shorter if there are many ranks or a file size limit.
func NodeMemory(ranks int) (*os.File, int64, error) {
	f, each, _, err := nodeMemory(ranks, 0, 1)
	return f, each, err
}

// SharedMemory does the same as NodeMemory, and adds a shelf for the book of a world of size ranks. The shelf
// follows the ranges. The shelf is nil if there is no room for it. generations is the largest number of
// generations of the job. A rank may have the node memories of all generations mapped. The caller closes the
// file. The shelf has a descriptor of its own, which stays open until the generation or the process ends.
func SharedMemory(ranks, size, generations int) (*os.File, int64, *Shelf, error) {
	return nodeMemory(ranks, int64(bookBytesMax(size)), generations)
}

func nodeMemory(ranks int, shelf int64, generations int) (*os.File, int64, *Shelf, error) {
	each, err := rangeBytes(ranks, shelf, generations)
	if err != nil {
		shelf = 0
		each, err = rangeBytes(ranks, 0, generations)
	}
	if err != nil {
		return nil, 0, nil, err
	}
	f, err := sealed("gorun-node", unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL, func(f *os.File) error {
		return f.Truncate(int64(ranks)*each + shelf)
	})
	if err != nil || shelf == 0 {
		return f, each, nil, err
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, 0, nil, errors.Join(fmt.Errorf("bootstrap: node memory: %w", err), f.Close())
	}
	return f, each, &Shelf{file: os.NewFile(uintptr(fd), "gorun-book"), at: int64(ranks) * each, bytes: shelf}, nil
}

// mapShelf maps the shelf, which is the part of the node memory that follows the ranges of the ranks. The
// shelf stays mapped until the process ends. mapShelf returns nil if the node memory has no shelf.
func mapShelf(memory *os.File, job Job) ([]byte, error) {
	st, err := memory.Stat()
	if err != nil {
		return nil, fmt.Errorf("bootstrap: node memory: %w", err)
	}
	at := int64(job.LocalSize) * job.NodeRange
	if st.Size() == at {
		return nil, nil
	}
	shelf, err := unix.Mmap(int(memory.Fd()), at, int(st.Size()-at), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("bootstrap: node memory: map the book: %w", err)
	}
	return shelf, nil
}

func rangeBytes(ranks int, shelf int64, generations int) (int64, error) {
	if ranks < 1 || ranks > sizeMax {
		return 0, fmt.Errorf("bootstrap: node memory for %d ranks", ranks)
	}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0, fmt.Errorf("bootstrap: sysinfo: %w", err)
	}
	total := min(uint64(1)<<nodeBytesMaxBits, uint64(1)<<allBytesMaxBits/uint64(generations))
	// The length stays within RLIMIT_FSIZE, because ftruncate beyond this limit fails and raises SIGXFSZ.
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err == nil {
		total = min(total, limit.Cur)
	}
	each := (max(total, uint64(shelf)) - uint64(shelf)) / uint64(ranks)
	each = min(each, uint64(1)<<bits.Len64(info.Totalram*uint64(info.Unit)-1))
	if each < rangeBytesMin {
		return 0, fmt.Errorf("bootstrap: node memory for %d ranks in %d generations: %d bytes each are too few (ulimit -f?)", ranks, generations, each)
	}
	return int64(1) << (bits.Len64(each) - 1), nil
}

// SecretFile makes the file from which ranks read the job secret. The file is a memfd that is sealed against
// all changes.
func SecretFile(secret [32]byte) (*os.File, error) {
	seals := unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE | unix.F_SEAL_SEAL
	return sealed("gorun-secret", seals, func(f *os.File) error {
		_, err := f.WriteAt(secret[:], 0)
		return err
	})
}

func sealed(name string, seals int, fill func(*os.File) error) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("bootstrap: memfd_create: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if err := fill(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("bootstrap: %s: %w", name, err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("bootstrap: %s: seal: %w", name, err)
	}
	return f, nil
}
