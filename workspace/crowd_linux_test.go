package workspace_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
)

func soaking() bool { return os.Getenv("RYE_SOAK") != "" }

// resident reads this process's memory, in MiB.
func resident(t testing.TB, key string) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("/proc is not mounted: ", err)
	}
	_, rest, _ := strings.Cut(string(status), key+":")
	kb, _ := strconv.Atoi(strings.Fields(rest)[0])
	return kb >> 10
}

// watchMemory returns the highest resident size since it was called, when asked.
func watchMemory(t testing.TB) (peak func() int) {
	stop, done := make(chan struct{}), make(chan int)
	go func() {
		high := 0
		for {
			high = max(high, resident(t, "VmRSS"))
			select {
			case <-stop:
				done <- high
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() int { close(stop); return <-done }
}

const counting = `#!/usr/bin/env bash
# version: 1.0.0
# executor_id: rye/core/runtimes/bash_runtime
# category: acme
# description: Say a number
# config_schema: {type: object, properties: {n: {type: integer}}}
echo "$RYE_PARAM_N"
`

// Any number of executions can be asked for at once: so many go on as there are
// workers, the rest waits, each gets its own answer, and memory stays bounded.
// RYE_SOAK=1 asks for 10,000.
func TestExecutionsAtOnce(t *testing.T) {
	testkit.NeedProgram(t, "bash")
	p := project(t)
	p.o.Workers = 4
	p.enter(p.dir)
	p.write("tools/acme/count.sh", counting)
	p.sign("tool:acme/count")
	n := 60
	if soaking() {
		n = 10000
	}
	before, peak := resident(t, "VmRSS"), watchMemory(t)
	var wg sync.WaitGroup
	var failed atomic.Int64
	for i := range n {
		wg.Go(func() {
			res, err := p.Execute(t.Context(), rye.Client(), rye.ExecuteRequest{Ref: refOf("tool:acme/count"), Params: fmt.Appendf(nil, `{"n":%d}`, i)})
			if err != nil || !bytes.Contains(res.Data, fmt.Appendf(nil, "%d", i)) {
				if failed.Add(1) < 4 {
					t.Errorf("execution %d: %+v, %v", i, res, err)
				}
			}
		})
	}
	wg.Wait()
	high := peak()
	t.Logf("%d executions at once: %d failed, %d MiB before, at most %d MiB", n, failed.Load(), before, high)
	if high > 500 {
		t.Errorf("%d MiB", high)
	}
}

// Who waits for a person holds nobody up, and who gives up waiting leaves the line.
func TestWaitingForAPersonBlocksNobody(t *testing.T) {
	testkit.NeedProgram(t, "bash")
	p := project(t)
	p.o.Workers = 1
	asked, answer := make(chan struct{}), make(chan bool)
	p.o.Consent = func(ctx context.Context, q rye.Question) (bool, error) {
		asked <- struct{}{}
		return <-answer, nil
	}
	p.enter(p.dir)
	p.write("tools/acme/count.sh", counting)
	p.write("tools/acme/clean.sh", strings.Replace(counting, `echo "$RYE_PARAM_N"`, "rm -rf src; echo cleaned", 1))
	p.sign("tool:acme/count", "tool:acme/clean")
	ended := make(chan error)
	go func() {
		_, err := p.Execute(t.Context(), rye.Client(), rye.ExecuteRequest{Ref: refOf("tool:acme/clean")})
		ended <- err
	}()
	<-asked
	if _, err := p.Execute(t.Context(), rye.Client(), rye.ExecuteRequest{Ref: refOf("tool:acme/count")}); err != nil {
		t.Error(err)
	}
	answer <- true
	if err := <-ended; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Execute(ctx, rye.Client(), rye.ExecuteRequest{Ref: refOf("tool:acme/count")})
	wantCode(t, "a cancelled execution", err, fault.Interrupt)
}

// One gigabyte of output is counted, not kept.
func TestAGigabyteOfOutput(t *testing.T) {
	testkit.NeedProgram(t, "bash")
	p := project(t)
	p.write("tools/acme/loud.sh", strings.Replace(counting, `echo "$RYE_PARAM_N"`, `head -c "$RYE_PARAM_N" /dev/zero; head -c "$RYE_PARAM_N" /dev/zero >&2`, 1))
	p.sign("tool:acme/loud")
	size := 128 << 20
	if soaking() {
		size = 1 << 30
	}
	peak := watchMemory(t)
	var seen int64
	res, err := p.Execute(t.Context(), rye.Terminal(), rye.ExecuteRequest{Ref: refOf("tool:acme/loud"), Params: fmt.Appendf(nil, `{"n":%d}`, size),
		Stdout: func(b []byte) { seen += int64(len(b)) }})
	if err != nil {
		t.Fatal(err)
	}
	high := peak()
	t.Logf("%d MiB on each stream: at most %d MiB resident", size>>20, high)
	if seen != int64(size) || !res.Metadata.Truncated || high > 500 {
		t.Errorf("saw %d of %d bytes, truncated %v, %d MiB", seen, size, res.Metadata.Truncated, high)
	}
}
