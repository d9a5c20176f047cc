// Package goroutine parses the text of goruntime.Stack for all goroutines, and decides whether the
// goroutines of a program can continue by themselves. The standard library provides the state of a
// goroutine only in that text.
package goroutine
