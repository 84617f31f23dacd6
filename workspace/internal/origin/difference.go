package origin

import (
	"errors"
	"fmt"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// difference is the error for bytes that are not those that an index or a lock file promised.
type difference struct{ rule, want, got string }

// Error names both, shortened as on all screens.
func (d *difference) Error() string {
	return fmt.Sprintf("its %s differs: expected %s, found %s", d.rule, shortSum(d.want), shortSum(d.got))
}

// Unwrap gives the error its code.
func (d *difference) Unwrap() error { return errDiffers }

var errDiffers = fault.New(fault.Integrity, "the content differs")

func differs(err error) (*difference, bool) {
	var d *difference
	ok := errors.As(err, &d)
	return d, ok
}

// shortSum shortens a hash for people. It may come from a lock file, and be anything.
func shortSum(s string) string {
	const shown = 24
	if len(s) > shown {
		s = s[:shown] + "…"
	}
	return words.Quote(words.Brief(s))
}
