// Package toggle reads environment variables that switch something on or off. It is a package of its own, because
// runtime, collectives and checkpoint read such variables, and they must accept the same values.
package toggle
