// Package hugepages asks for huge pages in place of the pages of memory that is often copied between
// processes. process_vm_readv(2) pins every page of the memory from which it reads. For 64 KiB in
// pages of 4 KiB this takes longer than the copy; for one huge page the time is negligible. The
// kernel by itself uses huge pages only for memory for which a program has requested them in
// advance, and Go does not do so for its heap.
package hugepages
