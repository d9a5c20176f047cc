// Package launch builds gorun and programs of the module, and runs them as jobs with a time
// limit. Tests and the comparison with other systems use it.
package launch
