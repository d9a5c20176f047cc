// Package launch builds gorun and programs for tests, and runs them.
package launch
