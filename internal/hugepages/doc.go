// Package hugepages makes huge pages of memory that is copied between processes
// again and again. process_vm_readv(2) pins every page of the memory that it reads
// from, which for 64 KiB in pages of 4 KiB takes longer than the copy; of one huge
// page it takes next to nothing. The kernel makes them by itself only where a
// program has asked for them in advance, which the collector's heap has not.
package hugepages
