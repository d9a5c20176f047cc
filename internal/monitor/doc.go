// Package monitor keeps the monitor of Go's scheduler (runtime.sysmon) from interrupting a
// goroutine that polls.
//
// The monitor is a thread of its own. While the process is active it sleeps 20 us, fifty
// times before it sleeps longer, and the kernel lets a thread that wakes up preempt the one
// that runs. A rank that is bound to a core loses 15 to 25 us each time, about every
// 80 us (measured on a virtual machine): the first 10,000 messages of a program took twice
// as long as the later ones, and so did those after every pause.
//
// Under SCHED_BATCH (sched(7)) a thread that wakes up waits until the processor is free or
// the next tick of the kernel, 1 to 10 ms later, and has the same share of the processor as
// before. So the monitor does its work (it retakes Go's processor from long system calls,
// preempts goroutines after 10 ms, polls the network) at once on an idle core, and a tick
// later on a busy one.
//
// Ranks that share a processor give it up all the time, and the monitor runs then: for the first 4 ms it
// does so more than ten thousand times a second, and each time the kernel has one thread more to choose from. Where the
// process may, the monitor's sleeps are therefore up to 0.5 ms longer: of 4 ranks on 2 processors the first
// 1,000 barriers take 3.9 us in place of 6.0, as the later ones do. A goroutine that waits for another one's system
// call waits as much longer.
//
// The monitor starts a thread when it retakes the processor from a system call and no other
// thread is idle. That thread inherits the policy and then runs any goroutine, also the one
// that runs Main: with six goroutines blocked in read(2), it ran on such a thread all the
// time. A batch thread that wakes up on a core that computes runs after 3 ms instead of
// 0.1 ms (measured with Linux 6.18). Therefore a rank calls Restore before it sleeps.
package monitor
