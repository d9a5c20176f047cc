// Package watchdog contains the code with which a watchdog process waits for the end of its gorun. Every
// launcher and every agent that has something to clean up has a watchdog, and nearly all watchdogs only wait.
// For this reason, the wait takes place during the initialization of the program, before the other packages are
// initialized. The process then costs no more than an empty Go program.
package watchdog
