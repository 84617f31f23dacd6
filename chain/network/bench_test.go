package network

import (
	"os"
	"testing"
)

// BenchmarkRead measures what a run with network pays: on the machine as it is.
func BenchmarkRead(b *testing.B) {
	testOnlyEtc = "/etc"
	src := Source{Env: os.Environ(), Home: os.Getenv("HOME"), Project: b.TempDir()}
	for b.Loop() {
		Read(src)
	}
}
