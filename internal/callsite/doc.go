// Package callsite records the callers of an operation. Recording takes a few nanoseconds. Therefore every
// operation can record its callers. Site.Note follows the frame pointers, which Go maintains on amd64 and
// arm64. goruntime.Callers, which unwinds the stack, takes a hundred times as long. Names and lines are
// looked up only when they are printed.
package callsite
