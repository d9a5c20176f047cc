// Package launch builds gorun and other programs, and runs them as jobs with a time limit. Tests and the
// comparison with other systems use it.
package launch
