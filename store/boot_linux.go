package store

import (
	"os"
	"sync"
)

// bootID identifies this run of the machine; "" where the system does not tell.
var bootID = sync.OnceValue(func() string {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || len(raw) > 1<<10 {
		return ""
	}
	return string(raw)
})
