package diff

import "fmt"

// Count returns the numbers of removed and added lines between two texts, in words.
func Count(old, now string) string {
	gone, come := 0, 0
	for _, l := range Lines(old, now) {
		switch l[0] {
		case '-':
			gone++
		case '+':
			come++
		}
	}
	return fmt.Sprintf("%d lines go, %d come", gone, come)
}
