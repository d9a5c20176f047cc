// Package phases has tests alone: programs of random phases, in each of which one rank is late while the others
// wait for it in one of many ways. None of them may be called deadlocked by gorun. The same programs with a deadlock
// of a random kind at their end must be ended for it, every time.
package phases
