// Package callsite records the callers of an operation. On amd64 and arm64, recording takes a few nanoseconds,
// because Site.Note follows the frame pointers that Go maintains there. Therefore every operation can record its
// callers. On other processors, Site.Note calls goruntime.Callers, which unwinds the stack and takes a hundred
// times as long. Names and lines are looked up only when they are printed.
package callsite
