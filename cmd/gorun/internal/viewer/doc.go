// Package viewer is the live table of gorun inspect -watch on a terminal.
//
// Model is the table without the terminal: messages go into it, and its view comes out. Run connects it to a
// terminal by package tea, which has the alternate screen, the keys, the changes of size, and the drawing of what has
// changed. What ranks have written is made harmless by package printable before it is in a view.
package viewer
