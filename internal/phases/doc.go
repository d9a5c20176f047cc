// Package phases only has tests. They run programs of random phases. In each phase one rank is late, and the
// other ranks wait for it in one of many ways. gorun may not report a deadlock of these programs. With a deadlock
// of a random kind after the last phase, gorun must report it and end the program, every time.
package phases
