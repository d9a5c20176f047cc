// Package blocking makes system calls that sleep.
//
// syscall.Syscall6 keeps Go's processor during a call, which is right for short ones:
// the scheduler's monitor takes it away from those that last, but looks every 20 us at
// first and every 10 ms when it has found nothing for a while. A rank that is bound to
// one core has one processor, so that for so long nothing else of it runs.
package blocking
