// Package monitor keeps the monitor of Go's scheduler (runtime.sysmon) from interrupting a
// goroutine that polls.
//
// The monitor is a thread of its own. While the process is active, it sleeps for 20 us at a
// time, and fifty times so before its sleeps become longer. When it wakes up, the kernel lets
// it preempt the running thread. A rank that is bound to a core loses 15 to 25 us each time,
// about every 80 us (measured on a virtual machine). The first 10,000 messages of a program and
// those after every pause took twice as long as the other messages.
//
// Under SCHED_BATCH (sched(7)), a thread that wakes up does not run before the processor is idle
// or the kernel's next tick comes, 1 to 10 ms later. Its share of the processor stays the same.
// So the monitor does its work (it retakes Go's processor from long system calls, preempts
// goroutines after 10 ms, polls the network) at once on an idle core, and a tick later on a
// busy one.
//
// Ranks that share a processor yield it all the time, and each time the monitor may run. In the first
// 4 ms it does so more than ten thousand times a second, and the kernel has one thread more to choose
// from. If the process has the privilege, the monitor's sleeps are therefore up to 0.5 ms longer. With 4
// ranks on 2 processors, each of the first 1,000 barriers then takes 3.9 us in place of 6.0, as the later
// barriers do. The cost: if a goroutine waits for the processor of another goroutine that is in a system
// call, it waits up to 0.5 ms longer.
//
// The monitor starts a thread when it retakes the processor from a system call and no other
// thread is idle. The new thread inherits the policy SCHED_BATCH, and then runs any goroutine,
// also the goroutine that runs Main: with six goroutines blocked in read(2), Main ran on such a
// thread all the time. If a SCHED_BATCH thread wakes up on a busy core, it runs after 3 ms instead
// of 0.1 ms (measured with Linux 6.18). Therefore a rank calls Restore before it sleeps.
package monitor
