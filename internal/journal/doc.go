// Package journal queues log lines of code that must not block until a line is written, because
// it holds a lock or is on the path of messages. The output may be slow, or a full pipe that
// nobody reads. A goroutine writes the lines; it exists only while lines are queued. Lines
// that do not fit into the queue are dropped, and a line in their place states their number.
package journal
