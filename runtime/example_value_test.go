package runtime_test

import (
	"fmt"

	"github.com/gorun-hpc/gorun/runtime"
)

// A value that contains strings and maps is encoded, sent and decoded.
func ExampleSendValue() {
	type node struct {
		Name  string
		Edges map[string]float64
	}
	err := runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		if c.Rank() == 0 {
			return runtime.SendValue(c, []node{{"a", map[string]float64{"b": 1.5}}, {"b", nil}}, 1, 0)
		}
		nodes, _, err := runtime.RecvValue[[]node](c, 0, 0)
		fmt.Println(nodes)
		return err
	})
	fmt.Println(err)
	// Output:
	// [{a map[b:1.5]} {b map[]}]
	// <nil>
}

// celsius is encoded as text by its codec.
type celsius struct{ degrees float64 }

type celsiusCodec struct{}

func (celsiusCodec) Append(b []byte, v *celsius) ([]byte, error) {
	return fmt.Appendf(b, "%g C", v.degrees), nil
}

func (celsiusCodec) Decode(b []byte, v *celsius) error {
	_, err := fmt.Sscanf(string(b), "%g C", &v.degrees)
	return err
}

// A program registers its own codec for one type, and a codec of this package for another.
func ExampleRegisterCodec() {
	runtime.RegisterCodec(celsiusCodec{})               // a codec of the program
	runtime.RegisterCodec(runtime.JSON[map[int]bool]{}) // encodes with encoding/json
	err := runtime.Local(1, func(w *runtime.World) error {
		c := w.Comm()
		if err := runtime.SendValue(c, celsius{21.5}, 0, 0); err != nil {
			return err
		}
		v, s, err := runtime.RecvValue[celsius](c, 0, 0)
		fmt.Println(v.degrees, s.Bytes > len("21.5 C"))
		return err
	})
	fmt.Println(err)
	// Output:
	// 21.5 true
	// <nil>
}
