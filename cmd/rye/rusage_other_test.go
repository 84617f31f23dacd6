//go:build !unix

package main_test

import (
	"errors"
	"os/exec"
	"testing"
	"time"
)

const measureEnv = "RYE_TEST_MEASURE"

// used is what a process took; memory is not told here.
type used struct {
	cpu time.Duration
	rss int64
}

func measured(t *testing.T, cmd *exec.Cmd) (out []byte, exit int, u used) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	var e *exec.ExitError
	if err != nil && !errors.As(err, &e) {
		t.Fatal(err)
	}
	p := cmd.ProcessState
	return out, p.ExitCode(), used{cpu: p.UserTime() + p.SystemTime()}
}

func measure() {}

const servantEnv = "RYE_TEST_SERVANT"

func servant() {}
