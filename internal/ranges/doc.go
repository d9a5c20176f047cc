// Package ranges reads and writes lists of numbers with ranges, such as "0-3,8": the lists of
// processors in the kernel's files (cpuset(7), "List format"), the brackets in lists of hosts of
// Slurm and Flux, and the ranks of a node. Lists come from elsewhere, so the reader is told
// what bounds them, and a short text cannot ask for much memory.
package ranges
