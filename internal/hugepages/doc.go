// Package hugepages asks the kernel for huge pages for memory that is often copied between processes.
// process_vm_readv(2) pins every page of the memory from which it reads. For 64 KiB in pages of 4 KiB, the
// pinning takes longer than the copy. The pinning of one huge page takes negligible time. If transparent huge
// pages are set to madvise, the kernel uses huge pages only for memory for which a program has requested them in
// advance. Go does not request them for its heap. PrepareHeap requests them for the memory that a program gets
// first, Traffic for memory that has been copied often. FaultIn prepares memory with pages of any size for its
// first use.
package hugepages
