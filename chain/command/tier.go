package command

import (
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Tier is the danger of an execution, from T0 (harmless) to T4 (refused).
type Tier uint8

// The tiers, with their handling by default.
const (
	T0 Tier = iota // safe: allowed
	T1             // low: allowed
	T2             // medium: asks
	T3             // high: asks
	T4             // critical: refused
)

// String returns "t0" to "t4", the form in files and messages.
func (t Tier) String() string { return "t" + string('0'+rune(min(t, T4))) }

// ParseTier accepts t0 to t4 in either case.
func ParseTier(s string) (Tier, error) {
	if len(s) == 2 && (s[0] == 't' || s[0] == 'T') && s[1] >= '0' && s[1] <= '4' {
		return Tier(s[1] - '0'), nil
	}
	return 0, fault.New(fault.Malformed, "tier %q: want t0, t1, t2, t3 or t4", words.Brief(s))
}

// UnmarshalText reads a tier in a file.
func (t *Tier) UnmarshalText(text []byte) (err error) {
	*t, err = ParseTier(string(text))
	return err
}

// MarshalText writes a tier into a file.
func (t Tier) MarshalText() ([]byte, error) { return []byte(t.String()), nil }
