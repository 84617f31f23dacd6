package cli

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
)

// Below its limit a command collects nothing; what hardly fits below it ends that, or the
// collector would do nothing else. Each row is a process: all of it is the runtime's state.
func TestCollectFrom(t *testing.T) {
	const limit = 64 << 20
	if n, err := strconv.Atoi(os.Getenv("RYE_TEST_IN_USE")); err == nil {
		used := make([]byte, n)
		collectFrom(limit)
		for range 100 {
			runtime.GC()
			runtime.Gosched()
		}
		runtime.KeepAlive(used)
		now := []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/gomemlimit:bytes"}}
		metrics.Read(now)
		fmt.Printf("percent %d, limit %d\n", now[0].Value.Uint64(), now[1].Value.Uint64())
		return
	}
	for inUse, want := range map[int]string{
		1 << 20:       fmt.Sprintf("percent %d, limit %d\n", uint64(math.MaxUint64), limit),
		limit / 4 * 3: fmt.Sprintf("percent %d, limit %d\n", 100, math.MaxInt64),
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestCollectFrom$")
		cmd.Env = append(os.Environ(), fmt.Sprint("RYE_TEST_IN_USE=", inUse))
		if out, err := cmd.Output(); err != nil || !strings.HasPrefix(string(out), want) {
			t.Errorf("%d bytes in use: %s%v; want %s", inUse, out, err, want)
		}
	}
}
