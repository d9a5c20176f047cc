package main

import (
	"math"
	"slices"

	"github.com/gorun-hpc/gorun/collectives/simulation"
)

// observation is a row whose time was measured on this machine.
type observation struct {
	run      simulation.Run // its Model is not used
	measured float64        // microseconds, the mean over the ranks
}

// The search of fit multiplies a time by a factor, and by its inverse. The first factor is factorFirst. After
// a round in which the deviation decreases by less than progress, the distance of the factor from 1 is
// halved. The search ends when the factor is less than factorLast.
const (
	factorFirst = 2.0
	factorLast  = 1.02
	progress    = 1e-3
)

// fit returns the model whose predictions deviate least from the observations, and their deviation (see the
// function deviation). It changes the times of the model one after the other: a pattern search, R. Hooke and T.
// A. Jeeves, "Direct search solution of numerical and statistical problems", Journal of the ACM 8 (1961).
// Times that are 0 stay 0.
func fit(model simulation.Model, all []observation) (simulation.Model, float64, error) {
	model.Node, model.Processor = slices.Clone(model.Node), slices.Clone(model.Processor)
	least, err := deviation(model, all)
	if err != nil {
		return model, 0, err
	}
	times := positive(&model)
	for factor := factorFirst; factor > factorLast; {
		before := least
		for _, t := range times {
			for _, f := range []float64{factor, 1 / factor} {
				old := *t
				*t *= f
				d, err := deviation(model, all)
				if err != nil {
					return model, 0, err
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
	return model, least, nil
}

// positive returns those times of a model's processors and nodes that are not 0.
func positive(m *simulation.Model) (times []*float64) {
	all := []*float64{&m.Call, &m.Combine, &m.Copy, &m.Visit, &m.VisitPerRank}
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

// deviation returns the mean of |log(prediction/measurement)| of the observations. A mean of squares would
// give single rows, such as those disturbed by other programs, more weight.
func deviation(m simulation.Model, all []observation) (float64, error) {
	sum := 0.0
	for _, o := range all {
		o.run.Model = m
		res, err := o.run.Predict()
		if err != nil {
			return 0, err
		}
		sum += math.Abs(math.Log(res.Mean.Seconds() * 1e6 / o.measured))
	}
	return sum / float64(len(all)), nil
}
