package node

// NoSpin makes every wait call Memory.Await at once.
func (g *Group) NoSpin() { g.spin = 0 }

// Limits that tests check.
const (
	PlaceMax       = placeMax
	StatementCount = statementCount
)
