// Package watchdog contains the wait of a watchdog process for the end of its gorun. Each agent has a
// watchdog, and nearly all watchdogs do nothing but wait. So the wait takes place during the
// initialisation of the program, before the other packages are initialised, and the process costs no
// more than an empty Go program.
package watchdog
