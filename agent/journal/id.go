package journal

import (
	"strings"
	"time"
)

const (
	alphabet = "0123456789abcdefghjkmnpqrstvwxyz" // Crockford's, in lower case
	idLength = 26
)

// NewID returns a ULID in lower case: 48 bits of milliseconds since 1970, so that ids sort by time,
// and 80 random bits. Times before 1970 count as 1970.
func NewID(at time.Time, random [10]byte) string {
	ms := uint64(max(0, at.UnixMilli())) & (1<<48 - 1)
	var id [idLength]byte
	for i := range 10 {
		id[i] = alphabet[ms>>(45-5*i)&31]
	}
	for half := range 2 { // 5 bytes are 8 digits
		var n uint64
		for _, b := range random[5*half : 5*half+5] {
			n = n<<8 | uint64(b)
		}
		for i := range 8 {
			id[10+8*half+i] = alphabet[n>>(35-5*i)&31]
		}
	}
	return string(id[:])
}

// ValidID reports whether NewID can have made id. Threads and messages have such ids.
func ValidID(id string) bool {
	return len(id) == idLength && id[0] <= '7' && strings.Trim(id, alphabet) == ""
}
