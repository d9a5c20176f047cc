// Package journal queues log lines. It is for code that must not wait until a line is written, because the code
// holds a lock or is on the path of messages. The output may be slow, or it may be a full pipe that nobody
// reads. A goroutine writes the lines. The goroutine exists only while lines are queued. Lines that do not fit
// into the queue are dropped. A line in their place states how many were dropped.
package journal
