package collectives

import "github.com/gorun-hpc/gorun/collectives/internal/message"

// choose returns the rule (an algorithm with its conditions) for a situation, the data on which the choice
// depends. There are up to three candidates: the algorithm that override names, the choice of tuned (a table of
// measured choices, or nil), and the built-in choice. choose takes the first candidate that can serve the call.
func choose(s *situation, override string, tuned *Table) *rule {
	have := s.holds()
	rules := table[first[s.op]:first[s.op+1]]
	if r := named(rules, have, override); r != nil {
		return r
	}
	if tuned != nil {
		if r := named(rules, have, tuned.choice(s)); r != nil {
			return r
		}
	}
	for i := range rules {
		r := &rules[i]
		if all := r.must | r.best; have&all == all && (r.most == 0 || s.bytes <= r.most) {
			return r
		}
	}
	return &rules[len(rules)-1]
}

// chosen has for each operation the rule of the latest blocking call, and those fields of that call's situation that
// can differ between the calls of a group. Two calls with equal fields have the same rule, as long as the other fields
// of the situation do not change.
type chosen [message.Operations]struct {
	bytes, elem int
	commutative bool
	rule        *rule
}

// rule returns the rule for a blocking call. Most calls have the same fields as the latest call of the operation (see
// chosen), and get the rule of that call.
func (g *group) rule(k *call) *rule {
	last := &g.chosen[k.op]
	if last.rule != nil && last.bytes == k.block && last.elem == k.Reduction.Elem && last.commutative == k.Reduction.Commutative {
		return last.rule
	}
	s := g.situation(k)
	r := g.take(&s)
	if g.choices == nil { // with gorun -explain, take must record each call
		last.bytes, last.elem, last.commutative, last.rule = k.block, k.Reduction.Elem, k.Reduction.Commutative, r
	}
	return r
}

// named returns the first element of rules that has the given name and whose required conditions (the field must) all
// hold. The argument have is the set of the conditions that hold. If no rule fits, named returns nil.
func named(rules []rule, have need, name string) *rule {
	if name == automatic {
		return nil
	}
	for i := range rules {
		if rules[i].name == name && have&rules[i].must == rules[i].must {
			return &rules[i]
		}
	}
	return nil
}
