// Package viewer implements the live table of gorun inspect -watch on a terminal.
//
// Model is the table, independent of a terminal. Update changes the table by a message, and View draws it.
// Run connects the table to a terminal through package tea. Package tea handles the alternate screen, the
// keys and changes of size, and redraws the parts of the view that have changed. Package printable makes the
// text of ranks harmless before the text gets into a view.
package viewer
