package runtime

// Group is an ordered set of world ranks. It is a value and never changes.
type Group struct {
	ranks []int
}

// Comparison is the result of Group.Compare.
type Comparison int

// Results of Group.Compare.
const (
	// Identical groups have the same members in the same order.
	Identical Comparison = iota
	// Similar groups have the same members in another order.
	Similar
	// Unequal groups have different members.
	Unequal
)

// Size returns the number of members.
func (g Group) Size() int { return len(g.ranks) }

// WorldRank returns the world rank of a member, or Undefined.
func (g Group) WorldRank(rank int) int { return rank }

// Rank returns the number in the group of a world rank, or Undefined.
func (g Group) Rank(worldRank int) int { return worldRank }

// Ranks returns the world ranks of the members in order.
func (g Group) Ranks() []int { return nil }

// Translate returns, for each rank of g, its rank in other, or Undefined.
// ProcNull stays ProcNull.
func (g Group) Translate(ranks []int, other Group) ([]int, error) { return nil, nil }

// Include returns the group of these members of g, in this order.
func (g Group) Include(ranks ...int) (Group, error) { return g, nil }

// Exclude returns g without these members.
func (g Group) Exclude(ranks ...int) (Group, error) { return g, nil }

// Union returns the members of g followed by those of other that are not in g.
func (g Group) Union(other Group) Group { return g }

// Intersection returns the members of g that are in other, in the order of g.
func (g Group) Intersection(other Group) Group { return g }

// Difference returns the members of g that are not in other.
func (g Group) Difference(other Group) Group { return g }

// Compare compares members and order.
func (g Group) Compare(other Group) Comparison { return Identical }
