package journal_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// resum gives the first line of a journal the sum that belongs to it, as who forges it would.
func resum(line string) []byte {
	body, _, _ := strings.Cut(line, `,"sum":"`)
	sum := sha256.Sum256(append(make([]byte, 32), body...))
	return []byte(body + `,"sum":"` + hex.EncodeToString(sum[:]) + `"}`)
}
