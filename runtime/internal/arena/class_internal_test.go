package arena

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClassesAgainstSearch(t *testing.T) {
	require.Equal(t, LargeMin, classSize(classes-1))
	class := 0
	for n := range LargeMin + 1 {
		for classSize(class) < n { // sizes ascend, so the first that fits is the smallest
			class++
		}
		if got := classOf(n); got != class {
			t.Fatalf("%d bytes: class %d of %d bytes, want %d of %d", n, got, classSize(got), class, classSize(class))
		}
	}
	for c := 1; c < classes; c++ {
		require.Greater(t, classSize(c), classSize(c-1))
		require.Zero(t, classSize(c)%align)
	}
}

func TestSlabsFitTheirSlotNumbers(t *testing.T) {
	for c := range classes {
		slots := slabBytes(c, 64<<10) / classSize(c) // 64 KiB is the largest page size
		require.LessOrEqual(t, slots, 1<<16)
		require.GreaterOrEqual(t, slots, slabSlots)
	}
}
