package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const stream = `{"Action":"run","Package":"m/a","Test":"TestLacking"}
{"Action":"output","Package":"m/a","Test":"TestLacking","Output":"=== RUN   TestLacking\n"}
{"Action":"output","Package":"m/a","Test":"TestLacking","Output":"    a_test.go:7: process_vm_readv: not supported\n"}
{"Action":"output","Package":"m/a","Test":"TestLacking","Output":"--- SKIP: TestLacking (0.00s)\n"}
{"Action":"skip","Package":"m/a","Test":"TestLacking"}
{"Action":"output","Package":"m/a","Test":"TestGood","Output":"    a_test.go:9: chatter\n"}
{"Action":"pass","Package":"m/a","Test":"TestGood"}
{"Action":"output","Package":"m/b","Test":"TestBad","Output":"    b_test.go:3: 1 is not 2\n"}
{"Action":"output","Package":"m/a","Output":"PASS\n"}
{"Action":"output","Package":"m/a","Output":"ok  \tm/a\t0.1s\n"}
{"Action":"fail","Package":"m/b","Test":"TestBad"}
{"Action":"skip","Package":"m/b","Test":"TestSilent"}
{"Action":"pass","Package":"m/a"}
{"Action":"output","Package":"m/b","Test":"TestCut","Output":"panic: lost\n"}
{"Action":"fail","Package":"m/b"}
{"Action":"output","Package":"m/b","Output":"FAIL\tm/b\t0.1s\n"}
go: something about the module
`

func TestReport(t *testing.T) {
	var out bytes.Buffer
	skips, err := report(strings.NewReader(stream), &out)
	require.NoError(t, err)
	require.Equal(t, []string{
		"m/a TestLacking: process_vm_readv: not supported",
		"m/b TestSilent: no reason given",
	}, skips)
	require.Equal(t, "ok  \tm/a\t0.1s\n    b_test.go:3: 1 is not 2\npanic: lost\nFAIL\tm/b\t0.1s\ngo: something about the module\n"+
		"failed: m/b TestBad\nfailed: m/b\n"+
		"FAIL: 1 packages passed, 1 failed; 1 tests passed, 1 failed, 2 skipped\n", out.String())
}

// If go test is ended from outside, the tests that were running have no end event.
func TestReportOfTestsThatDidNotEnd(t *testing.T) {
	var out bytes.Buffer
	_, err := report(strings.NewReader(`{"Action":"run","Package":"m/a","Test":"TestGood"}
{"Action":"output","Package":"m/a","Test":"TestGood","Output":"=== RUN   TestGood\n"}
{"Action":"pass","Package":"m/a","Test":"TestGood"}
{"Action":"output","Package":"m/a","Test":"TestHangs","Output":"=== RUN   TestHangs\n"}
{"Action":"start","Package":"m/a"}
{"Action":"start","Package":"m/b"}
{"Action":"start","Package":"m/c"}
{"Action":"output","Package":"m/b","Test":"BenchmarkGood","Output":"BenchmarkGood\n"}
{"Action":"pass","Package":"m/b"}
`), &out)
	require.NoError(t, err)
	require.Equal(t, "=== RUN   TestHangs\nfailed: m/a TestHangs (did not end)\nfailed: m/c (did not end)\n"+
		"FAIL: 1 packages passed, 0 failed; 1 tests passed, 0 failed, 0 skipped\n", out.String())
}
