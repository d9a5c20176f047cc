package toggle_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/toggle"
)

func TestValues(t *testing.T) {
	const name = "GORUN_TEST_TOGGLE"
	for _, otherwise := range []bool{true, false} {
		for text, want := range map[string]bool{"": otherwise, "1": true, "true": true, "T": true, "0": false, "false": false, "F": false} {
			t.Setenv(name, text)
			got, err := toggle.Of(name, otherwise)
			require.NoError(t, err)
			require.Equal(t, want, got, text)
		}
		for _, text := range []string{"yes", "on", "2", " 1"} {
			t.Setenv(name, text)
			got, err := toggle.Of(name, otherwise)
			require.EqualError(t, err, name+"="+text+" is neither true nor false: want 1 or true, 0 or false")
			require.Equal(t, otherwise, got)
		}
	}
}
