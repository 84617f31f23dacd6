//go:build !linux

package journal_test

import "os"

func bareSync(f *os.File) error { return f.Sync() }
