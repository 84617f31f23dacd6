package primitive

import (
	"crypto/rand"
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Mark says which run a process belongs to, whoever its parent is by now. The
// zero value is none. On Linux it is the hard limit on the time of real-time
// processes (RLIMIT_RTTIME): every descendant inherits it, nobody without
// privileges raises it, the filter of S2 keeps everybody from lowering it, and
// at these values it limits nothing. On other systems it means nothing.
type Mark uint64

// Marks are huge, so that no limit that somebody chose is taken for one, and
// finite, so that "unlimited" is none.
const (
	firstMark Mark = 1 << 61
	lastMark  Mark = 1<<62 - 1
)

// RunVar is the variable that every process of a run gets, with the name of the run's
// caller, which may be "". A program can take it from what it starts, and set it to anything:
// that it is there says something, that it is absent says nothing.
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

// leftMark returns the mark that an abandoned run directory remembers.
func leftMark(root string) Mark {
	text, err := os.ReadFile(filepath.Join(root, lockName))
	if err != nil || len(text) > 64 {
		return 0
	}
	return parseMark(string(text))
}
