package store

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
)

func init() {
	if len(os.Args) == 3 && os.Args[1] == "__memory" { // started by TestApartMemory
		os.Exit(takeMemory(os.Args[2]))
	}
}

// takeMemory is a reader of packs that goes wrong: it confines itself and writes to so many
// MiB of memory.
func takeMemory(mib string) int {
	n, err := strconv.Atoi(mib)
	if err != nil || confine(Limits{}) != nil {
		return 3
	}
	block := make([]byte, n<<20)
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	return 0
}

// TestApartMemory: the process that reads a pack has the memory that it may take, and no more.
func TestApartMemory(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for mib, want := range map[string]bool{"160": true, "200": false} {
		out, err := exec.Command(self, "__memory", mib).CombinedOutput()
		if got := err == nil; got != want {
			t.Errorf("%s MiB: ok = %t, want %t: %v\n%.300s", mib, got, want, err, out)
		}
	}
}
