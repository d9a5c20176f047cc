// Package breaks reads tables of plausible mistakes, applies one of them to the sources
// of a package, and runs the package's own tests on the result.
//
// The table of package a/b is internal/mutation/breaks/a_b.txt. An empty line separates
// breaks. The first line of a break says what it does wrong. Then come the files, named
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
// Lines that begin with '-' are removed, those that begin with '+' are added, and those
// that begin with a space stay; all of a line counts, its white space too. What a change
// finds in the file, its removed lines and its context, are consecutive lines that occur
// exactly once there. Another change in the same file names the file again. A file is
// any source of the package but a test.
//
// A description that begins with 'race: ' is of a break that nothing but the race
// detector sees, such as a plain store where an atomic one belongs: the tests run under
// the detector then.
package breaks
