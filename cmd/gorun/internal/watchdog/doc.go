// Package watchdog is the wait of gorun's watchdog for the end of gorun. It takes place while the
// program is initialised: each agent has a watchdog, and nearly all have nothing to do but to
// wait, for which they need none of the other packages. The process costs what an empty program in
// Go costs.
package watchdog
