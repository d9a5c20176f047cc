// Package viewer implements the live table of gorun inspect -watch on a terminal.
//
// Model is the table independently of a terminal: Update changes it by a message, and View draws it. Run
// connects it to a terminal through package tea, which handles the alternate screen, the keys and changes of
// size, and draws what has changed. Package printable makes the text of ranks harmless before it gets into a
// view.
package viewer
