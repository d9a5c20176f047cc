// Package ranges parses and formats lists of numbers with ranges, such as "0-3,8". Such lists name processors
// in the kernel's files (cpuset(7), "List format"), hosts in the brackets of Slurm and Flux, and the ranks of a
// node. The caller of Split and Parse passes limits, because lists come from other programs. Without limits, a
// short text could make Parse allocate much memory.
package ranges
