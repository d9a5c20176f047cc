// Package ranges parses and formats lists of numbers with ranges, such as "0-3,8": the lists of processors in
// the kernel's files (cpuset(7), "List format"), the brackets in lists of hosts of Slurm and Flux, and the
// ranks of a node. The caller of Split and Parse passes limits, because lists come from other programs.
// Without limits, a short text could make Parse allocate much memory.
package ranges
