// Package breaks reads tables of plausible mistakes, applies one of them to the sources
// of a package, and runs the package's own tests on the result.
//
// The table of package a/b is internal/mutation/breaks/a_b.txt. An empty line separates
// breaks. The first line of a break describes the mistake. Then come the files, with paths
// relative to the package, each with its changes:
//
//	# the last message of a full queue is dropped
//	queue.go
//	-	if len(q.messages) > max {
//	+	if len(q.messages) >= max {
//
//	# two changes, in two files; the line that begins with a space is context
//	pop.go
//	 	first := q.messages[0]
//	-	q.messages[0] = nil
//	push.go
//	-	q.wake()
//
// Lines that begin with '-' are removed, lines that begin with '+' are added, and lines that begin with a
// space are context, which stays. The rest of a line must match the file exactly, white space included. The
// removed lines and the context of a change must be consecutive lines that occur exactly once in the file.
// Each further change in the same file begins with the name of the file again. A file may be any source of
// the package except a test.
//
// If a description begins with 'race: ', only the race detector can catch the break, such as a
// plain store in place of an atomic store. The tests then run under the race detector.
package breaks
