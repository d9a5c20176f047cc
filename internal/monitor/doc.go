// Package monitor keeps the monitor of Go's scheduler (runtime.sysmon) from interrupting a
// goroutine that polls.
//
// The monitor is a thread of its own. While the process is active, the monitor first sleeps fifty times for
// 20 us. After that, its sleeps become longer. When the monitor wakes up, the kernel lets it preempt the
// running thread. A rank that is bound to a core loses 15 to 25 us each time, about every 80 us (measured on
// a virtual machine). Without this package, the first 10,000 messages of a program, and the messages after
// every pause, took twice as long as the other messages.
//
// Under SCHED_BATCH (sched(7)), a thread that wakes up does not run before the processor is idle or the
// kernel's next tick comes, 1 to 10 ms later. The thread's share of the processor stays the same. The work of
// the monitor is to retake Go's processor from long system calls, to preempt goroutines after 10 ms, and to
// poll the network. Under SCHED_BATCH, it does this work at once on an idle core, and a tick later on a busy
// core.
//
// Ranks that share a processor yield it all the time, and the monitor may run at each yield. In the first 4 ms,
// the monitor runs at a rate of more than ten thousand times a second, and the kernel has one more thread to
// choose from. For this reason, Defer makes the monitor's sleeps up to 0.5 ms longer if the process has
// CAP_SYS_NICE. With 4 ranks on 2 processors, each of the first 1,000 barriers then takes 3.9 us instead of 6.0
// us. These barriers are then as fast as the later ones. The longer sleeps have a cost. If a goroutine waits for
// the processor of another goroutine that is in a system call, it waits up to 0.5 ms longer.
//
// The monitor starts a thread when it retakes the processor from a system call and no other thread is idle.
// The new thread inherits the policy SCHED_BATCH, and then may run any goroutine, including the goroutine
// that runs Main. In a test with six goroutines that were blocked in read(2), Main ran on such a thread all
// the time. If a SCHED_BATCH thread wakes up on a busy core, it runs after 3 ms instead of 0.1 ms (measured
// with Linux 6.18). Therefore a rank calls Restore before it sleeps.
package monitor
