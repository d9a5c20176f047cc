// Package journal takes lines for people where nobody can wait until they are written:
// under a lock, on the way of messages. Who reads them may be slow, or a pipe that is
// full and never read. A goroutine writes them, which is there while there are lines;
// what does not fit meanwhile is counted, and a line says how many were left out.
package journal
