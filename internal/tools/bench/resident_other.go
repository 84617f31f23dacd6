//go:build !unix

package main

import (
	"os/exec"
	"time"
)

// resident is not known here.
func resident(*exec.Cmd) int64 { return 0 }

// processorTime is not known here.
func processorTime() time.Duration { return 0 }
