// Package goroutine reads the text of goruntime.Stack for all goroutines, and decides whether
// those of a program can go on by themselves. The standard library offers the state of a
// goroutine in that text alone.
package goroutine
