package chart

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuantity(t *testing.T) {
	for _, tc := range []struct {
		value      float64
		unit       string
		want, mark string
	}{
		{0.00042, "us", "0.000420 µs", "0.00042 µs"},
		{0.4267, "us", "0.427 µs", "0.427 µs"},
		{0.5, "us", "0.500 µs", "0.5 µs"},
		{10, "us", "10.0 µs", "10 µs"},
		{100, "us", "100 µs", "100 µs"},
		{999.4, "us", "999 µs", "999 µs"},
		{999.6, "us", "1.00 ms", "1 ms"},
		{2.5e6, "us", "2.50 s", "2.5 s"},
		{12345, "s", "12345 s", "12345 s"},
		{28857, "MB/s", "28.9 GB/s", "28.9 GB/s"},
		{5.67e6, "1/s", "5.67 M/s", "5.67 M/s"},
		{816, "1/s", "816 /s", "816 /s"},
		{1780, "KiB", "1.74 MiB", "1.74 MiB"},
		{1023, "KiB", "1023 KiB", "1023 KiB"},
		{0, "us", "0 µs", "0 µs"},
		{-3.456, "us", "-3.46 µs", "-3.46 µs"},
		{0.0051, "%", "0.00510 %", "0.0051 %"},
		{1.04, "", "1.04", "1.04"},
	} {
		require.Equal(t, tc.want, Quantity(tc.value, tc.unit))
		require.Equal(t, tc.mark, mark(tc.value, tc.unit))
	}
}

func TestNames(t *testing.T) {
	for n, want := range map[int]string{1: "1 B", 512: "512 B", 1024: "1 KiB", 1500: "1500 B", 64 << 10: "64 KiB", 4 << 20: "4 MiB", 1<<20 + 1024: "1025 KiB"} {
		require.Equal(t, want, Bytes(n))
	}
	for ratio, want := range map[float64]string{1: "1.00×", 0.827: "0.83×", 1.239: "1.24×", 9.999: "10.0×", 16.32: "16.3×", 2708.4: "2708×", 0.0123: "0.0123×"} {
		require.Equal(t, want, Times(ratio))
	}
}

func TestScale(t *testing.T) {
	s := scale{low: 1, high: 100, from: 0, to: 200}
	require.InDelta(t, 0, float64(s.place(1)), 1e-9)
	require.InDelta(t, 100, float64(s.place(10)), 1e-9)
	require.InDelta(t, 200, float64(s.place(100)), 1e-9)
	require.InDeltaSlice(t, []float64{1, 2, 5, 10, 20, 50, 100}, s.powers(10, 1, 2, 5), 1e-9)
	s = scale{low: 0.3, high: 5}
	require.InDeltaSlice(t, []float64{0.5, 1, 2, 4}, s.powers(2, 1), 1e-9)
	require.InDeltaSlice(t, []float64{0.5, 1, 2, 4}, s.times(), 1e-9)
	s = scale{low: 0.75, high: 1.6}
	require.InDeltaSlice(t, []float64{0.8, 1, 1.25, 1.5}, s.times(), 1e-9)
	s = scale{low: 0.05, high: 4000, to: 400}
	require.InDeltaSlice(t, []float64{0.1, 1, 10, 100, 1000}, s.times(), 1e-9)
	s.to = 200
	require.InDeltaSlice(t, []float64{1, 100}, s.times(), 1e-9, "labels need room")
}
