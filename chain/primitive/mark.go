package primitive

import (
	"crypto/rand"
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Mark identifies the run that a process belongs to, even after its parent changed. The zero
// value is no mark. On Linux it is the hard limit on the time of real-time processes
// (RLIMIT_RTTIME). Every descendant inherits it. Raising it needs privileges, and the filter of
// S2 refuses to lower it. At these values it limits nothing. On other systems it has no effect.
type Mark uint64

// Marks are huge, so that no ordinary limit looks like one, and finite, so that "unlimited" is no
// mark.
const (
	firstMark Mark = 1 << 61
	lastMark  Mark = 1<<62 - 1
)

// RunVar is the variable in every process of a run. Its value is the name of the run's caller,
// which may be "". A program can remove it from its children, and set it to anything. So its
// presence is a hint, and its absence proves nothing.
const RunVar = "RYE_RUN"

func newMark() Mark {
	var b [8]byte
	rand.Read(b[:])
	return firstMark | Mark(binary.LittleEndian.Uint64(b[:]))&(lastMark>>1)
}

func parseMark(text string) Mark {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	if m := Mark(n); err == nil && m >= firstMark && m <= lastMark {
		return m
	}
	return 0
}

func (m Mark) String() string { return strconv.FormatUint(uint64(m), 10) }

// leftMark returns the mark in an abandoned run directory.
func leftMark(root string) Mark {
	text, err := os.ReadFile(filepath.Join(root, lockName))
	if err != nil || len(text) > 64 {
		return 0
	}
	return parseMark(string(text))
}
