// Package blocking makes system calls that sleep.
//
// syscall.Syscall6 keeps the P (Go's scheduling context) during a call, which is right
// for short calls. The scheduler's monitor retakes it from long ones, but checks every
// 20 us at first and every 10 ms when it has found none for a while. A rank that is bound
// to one core has one P, so that no other goroutine of it runs until then.
package blocking
