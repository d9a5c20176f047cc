package main

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gorun-hpc/gorun/collectives/simulation"
)

// observation is a row whose time was measured on this machine.
type observation struct {
	run      simulation.Run // its Model is not used
	measured float64        // microseconds, the mean over the ranks
}

// The pattern search of fit multiplies a time by a factor, and by its inverse. The first factor is factorFirst.
// After a round in which the loss decreases by less than progress, the distance of the factor from 1 is
// halved. The search ends when the factor is at most factorLast, or after the largest number of tries.
const (
	factorFirst = 2.0
	factorLast  = 1.02
	progress    = 1e-3
)

// The random search of fit multiplies up to togetherMax times at once by random factors, whose logarithms have
// a normal distribution. Its standard deviation decreases from widest to narrowest during the tries.
const (
	togetherMax       = 3
	widest, narrowest = 0.7, 0.05
)

// tolerance separates small deviations from large ones. The loss of an observation grows with the square of the
// logarithm of the ratio of prediction and measurement if this logarithm is well below tolerance, and linearly if it
// is well above.
const tolerance = 0.3

// fit returns the model whose predictions fit the observations best, and their deviation (see the function
// deviation). Two searches decrease the loss. The first changes the times of the model one after the other: a
// pattern search, R. Hooke and T. A. Jeeves, "Direct search solution of numerical and statistical problems",
// Journal of the ACM 8 (1961). The second changes some of them at once and keeps what is better: a random
// search, L. A. Rastrigin, "The convergence of the random search method in the extremal control of a
// many-parameter system", Automation and Remote Control 24 (1963). Times that are 0 stay 0. The same
// observations give the same model. The argument tries is the largest number of tries of each of the two searches.
func fit(model simulation.Model, all []observation, tries int) (simulation.Model, float64, error) {
	model.Node, model.Processor = slices.Clone(model.Node), slices.Clone(model.Processor)
	least, err := loss(model, all)
	if err != nil {
		return model, 0, err
	}
	times := positive(&model)
	if least, err = patternSearch(&model, times, all, least, tries); err != nil {
		return model, 0, err
	}
	if err := randomSearch(&model, times, all, least, tries); err != nil {
		return model, 0, err
	}
	d, err := deviation(model, all)
	return model, d, err
}

// patternSearch changes the times of the model and returns the new loss. The argument least is the loss of the model
// at the call, and tries is the number of tries after which the search ends.
func patternSearch(model *simulation.Model, times []*float64, all []observation, least float64, tries int) (float64, error) {
	for factor := factorFirst; factor > factorLast; {
		before := least
		for _, t := range times {
			for _, f := range []float64{factor, 1 / factor} {
				if tries--; tries < 0 {
					return least, nil
				}
				old := *t
				*t *= f
				d, err := loss(*model, all)
				if err != nil {
					return 0, err
				}
				if d < least {
					least = d
					break
				}
				*t = old
			}
		}
		if before-least < progress {
			factor = 1 + (factor-1)/2
		}
	}
	return least, nil
}

// randomSearch changes the times of the model. The argument least is the loss of the model at the call. The random
// numbers are the same in every call.
func randomSearch(model *simulation.Model, times []*float64, all []observation, least float64, tries int) error {
	r := rand.New(rand.NewPCG(1, 2))
	old := make([]float64, len(times))
	for try := range tries {
		for i, t := range times {
			old[i] = *t
		}
		sigma := widest + (narrowest-widest)*float64(try)/float64(tries)
		for range 1 + r.IntN(togetherMax) {
			*times[r.IntN(len(times))] *= math.Exp(sigma * r.NormFloat64())
		}
		d, err := loss(*model, all)
		if err != nil {
			return err
		}
		if d < least {
			least = d
			continue
		}
		for i, t := range times {
			*t = old[i]
		}
	}
	return nil
}

// positive returns those parameters of a model's processors and nodes that are greater than 0. All of them are
// times, except the length Cache.
func positive(m *simulation.Model) (times []*float64) {
	all := []*float64{&m.Call, &m.Combine, &m.Copy, &m.Cache, &m.Miss, &m.Visit, &m.VisitPerRank}
	for _, l := range []simulation.Level{m.Node, m.Processor} {
		for i := range l {
			s := &l[i]
			all = append(all, &s.Latency, &s.Overhead, &s.SendPerByte, &s.RecvPerByte, &s.Handshake)
		}
	}
	for _, t := range all {
		if *t > 0 {
			times = append(times, t)
		}
	}
	return times
}

// loss returns the mean of the losses of the observations, which the searches decrease. For small deviations the
// loss is a square, so that it has no corners in which a search could stop early. For large ones it is linear, so
// that single rows, such as those disturbed by other programs, have less weight than with a square.
func loss(m simulation.Model, all []observation) (float64, error) {
	sum := 0.0
	for _, o := range all {
		d, err := o.deviation(m)
		if err != nil {
			return 0, err
		}
		sum += math.Hypot(math.Log1p(d), tolerance) - tolerance
	}
	return sum / float64(len(all)), nil
}

// deviation returns the mean of the absolute deviations of the predictions from the measurements, as fractions
// of the measurements.
func deviation(m simulation.Model, all []observation) (float64, error) {
	sum := 0.0
	for _, o := range all {
		d, err := o.deviation(m)
		if err != nil {
			return 0, err
		}
		sum += math.Abs(d)
	}
	return sum / float64(len(all)), nil
}

// deviation returns the deviation of the predicted time of o from the measured time, as a fraction of the
// measured time.
func (o observation) deviation(m simulation.Model) (float64, error) {
	o.run.Model = m
	res, err := o.run.Predict()
	if err != nil {
		return 0, err
	}
	return res.Mean.Seconds()*1e6/o.measured - 1, nil
}
