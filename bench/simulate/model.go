package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"github.com/gorun-hpc/gorun/collectives/simulation"
)

// cluster returns the model that is used without -model. The model is an assumption, not a measurement. Nodes
// have 100 Gbit/s in each direction. A message takes 1.5 us from one node to another, and 0.3 us of processor
// time at each end. Messages of more than 8 KiB use rendezvous and take 0.4 us of processor time at each end.
// Within a node, processors copy 10 GB/s.
func cluster() simulation.Model {
	return simulation.Model{
		Network: simulation.Level{
			{Most: 8 << 10, Latency: 1500, PerByte: 0.08, Gap: 100, Overhead: 300, SendPerByte: 0.05, RecvPerByte: 0.05},
			{Latency: 1500, PerByte: 0.08, Gap: 100, Overhead: 400, Rendezvous: true, Handshake: 1500},
		},
		Node: simulation.Level{
			{Most: 16 << 10, Latency: 150, Overhead: 100, SendPerByte: 0.1, RecvPerByte: 0.1},
			{Latency: 200, Overhead: 150, RecvPerByte: 0.1, Rendezvous: true, Handshake: 500},
		},
		Combine: 0.1, Copy: 0.1,
	}
}

// modelFlags defines the flags of the model, and returns the function that builds the model from
// their values.
func modelFlags(f *flag.FlagSet) func() (simulation.Model, error) {
	file := f.String("model", "", "`file` of a model as -print-model prints it, in place of an assumed cluster of 100 Gbit/s")
	perNode := f.Int("ranks-per-node", 0, "`number` of ranks on a node, in place of the model's")
	processors := f.Int("processors", 0, "`number` of processors of a node, in place of the model's; consecutive ranks share one")
	parameters := map[string]*float64{
		"alpha": f.Float64("alpha", 0, "latency of the network in `ns`, for all lengths, in place of the model's"),
		"beta":  f.Float64("beta", 0, "`ns` that a byte takes on a link of the network, for all lengths, in place of the model's"),
		"gamma": f.Float64("gamma", 0, "`ns` to combine a byte, in place of the model's"),
		"o":     f.Float64("o", 0, "processor time in `ns` of a message of the network at each end, in place of the model's"),
		"g":     f.Float64("g", 0, "least `ns` between messages on a link of the network, in place of the model's"),
		"copy":  f.Float64("copy", 0, "`ns` to copy a byte in memory, in place of the model's"),
	}
	return func() (simulation.Model, error) {
		m := cluster()
		if *file != "" {
			var err error
			if m, err = readModel(*file); err != nil {
				return m, err
			}
		}
		f.Visit(func(set *flag.Flag) {
			if v := parameters[set.Name]; v != nil {
				replace(&m, set.Name, *v)
			}
			switch set.Name {
			case "ranks-per-node":
				m.RanksPerNode = *perNode
			case "processors":
				m.Processors = *processors
			}
		})
		return m, m.Validate()
	}
}

// replace sets the parameter of a flag, in all segments of the network.
func replace(m *simulation.Model, name string, v float64) {
	switch name {
	case "gamma":
		m.Combine = v
		return
	case "copy":
		m.Copy = v
		return
	}
	for i := range m.Network {
		s := &m.Network[i]
		switch name {
		case "alpha":
			s.Latency = v
		case "beta":
			s.PerByte = v
		case "o":
			s.Overhead = v
		case "g":
			s.Gap = v
		}
	}
}

// readModel reads a model from a file.
func readModel(name string) (m simulation.Model, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return m, fmt.Errorf("-model: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return m, fmt.Errorf("-model %s: %w", name, err)
	}
	if err := m.Validate(); err != nil {
		return m, fmt.Errorf("-model %s: %w", name, err)
	}
	return m, nil
}
