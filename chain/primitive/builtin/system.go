package builtin

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/rye-os/rye/fault"
)

type systemParams struct {
	Item string `json:"item"`
}

// system returns facts that a program needs for its own decisions: no host or user name, no
// addresses, no environment.
func system(ctx context.Context, in Input) (any, error) {
	var q systemParams
	if err := params(in, &q); err != nil {
		return nil, err
	}
	switch q.Item {
	case "paths":
		return struct {
			Success     bool   `json:"success"`
			Project     string `json:"project_path"`
			UserSpace   string `json:"user_space"`
			SystemSpace string `json:"system_space"` // it has no path
			Separator   string `json:"separator"`
		}{true, in.Project, in.UserSpace, "compiled in", string(os.PathSeparator)}, nil
	case "time":
		now := time.Now()
		_, zone := now.Zone()
		return struct {
			Success bool   `json:"success"`
			UTC     string `json:"utc"`
			Unix    int64  `json:"unix"`
			Local   string `json:"local"`
			Zone    int    `json:"zone_offset_seconds"`
			Weekday string `json:"weekday"`
		}{true, now.UTC().Format(time.RFC3339), now.Unix(), now.Format(time.RFC3339), zone, now.UTC().Weekday().String()}, nil
	case "runtime":
		return struct {
			Success bool   `json:"success"`
			OS      string `json:"os"`
			Arch    string `json:"arch"`
			CPUs    int    `json:"cpus"` // that this process may use
			Memory  *int64 `json:"memory_bytes,omitempty"`
			Free    *int64 `json:"memory_available_bytes,omitempty"`
			Build   string `json:"rye_build"`
			Go      string `json:"go"`
		}{true, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), meminfo("MemTotal:"), meminfo("MemAvailable:"), in.Build, runtime.Version()}, nil
	}
	return nil, fault.New(fault.Usage, "parameters: item is %q, want paths, time or runtime", q.Item)
}

// meminfo reads one line of Linux' /proc/meminfo in bytes; nil elsewhere.
func meminfo(key string) *int64 {
	raw, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return nil
	}
	for s := bufio.NewScanner(bytes.NewReader(raw)); s.Scan(); {
		f := bytes.Fields(s.Bytes())
		if len(f) < 2 || string(f[0]) != key {
			continue
		}
		if n, err := strconv.ParseInt(string(f[1]), 10, 64); err == nil {
			n <<= 10
			return &n
		}
	}
	return nil
}
