// Package phases has only tests. They run programs of random phases. In each phase, one rank is late, and the
// other ranks wait for it in one of many ways. gorun must not report a deadlock in such a program. Other
// programs end with a deadlock of a random kind after the last phase. gorun must report each of these
// deadlocks and end the program. Further tests check the errors of collective calls that differ, and the output of
// gorun inspect for many ranks.
package phases
