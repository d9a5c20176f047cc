// Package journal takes log lines from code that must not block until they are written:
// under a lock, on the path of messages. The output may be slow, or a full pipe that is
// never read. A goroutine writes the lines and exists while there are any; lines that do
// not fit meanwhile are counted, and a line says how many were dropped.
package journal
