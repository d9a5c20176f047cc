// Package hugepages makes huge pages of memory that is copied between processes often.
// process_vm_readv(2) pins every page of the memory that it reads from, which for 64 KiB in
// pages of 4 KiB takes longer than the copy; for one huge page the time is negligible. The
// kernel makes them by itself only where a program has requested them in advance, which Go
// does not do for its heap. FaultIn maps pages of any size in advance.
package hugepages
