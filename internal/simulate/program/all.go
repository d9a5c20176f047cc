package program

import "github.com/gorun-hpc/gorun/internal/simulate"

// All returns the programs.
func All() []simulate.Program {
	return []simulate.Program{Exchange(), Survive(), Collectives(), BrokenCollectives(), Mismatch(), Communicators(), Actors(), BrokenActors(), Shrink(), Insulation(), Resume()}
}
