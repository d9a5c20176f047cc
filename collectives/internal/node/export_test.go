package node

// NoSpin makes every wait one of the memory.
func (g *Group) NoSpin() { g.spin = 0 }

// Places and lengths that tests check.
const (
	PlaceMax       = placeMax
	StatementCount = statementCount
)
