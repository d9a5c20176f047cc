// Package blocking makes system calls that sleep.
//
// syscall.Syscall6 keeps the P (Go's scheduling context) during a call, which is right for short calls. The
// scheduler's monitor takes the P away from a long call. The monitor checks for long calls every 20 us at
// first, and only every 10 ms after it has found no long call for a while. A rank that is bound to one core
// has one P. Until the monitor takes that P away, no other goroutine of the rank runs.
package blocking
