package thread

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

// Defaults of limits that nobody states, and the most that can be stated. A person who
// wants more says so; a directive that wants more has to.
var (
	defaultLimits = rye.ThreadLimits{Turns: 25, Tokens: 500_000, Spend: 1_000_000, Spawns: 10, Depth: 5, Duration: 1800, Output: 16_384}
	mostLimits    = rye.ThreadLimits{Turns: 10_000, Tokens: 1e12, Spend: 1e12, Spawns: 10_000, Depth: 32, Duration: 366 * 24 * 3600, Output: 1 << 20}
)

// fieldsOf lists the limits with their names, for what is done to each.
func fieldsOf(l *rye.ThreadLimits) []limitField {
	return []limitField{{"turns", &l.Turns}, {"tokens", &l.Tokens}, {"spend", (*int64)(&l.Spend)}, {"spawns", &l.Spawns},
		{"depth", &l.Depth}, {"duration_seconds", &l.Duration}, {"output", &l.Output}}
}

type limitField struct {
	name string
	at   *int64
}

// least returns the smaller of each limit; zero states nothing.
func least(a, b rye.ThreadLimits) rye.ThreadLimits {
	fb := fieldsOf(&b)
	for i, f := range fieldsOf(&a) {
		if n := *fb[i].at; n != 0 && (*f.at == 0 || n < *f.at) {
			*f.at = n
		}
	}
	return a
}

// orDefault fills in what nobody stated and bounds the rest.
func orDefault(l rye.ThreadLimits) rye.ThreadLimits {
	most, def := mostLimits, defaultLimits
	fm, fd := fieldsOf(&most), fieldsOf(&def)
	for i, f := range fieldsOf(&l) {
		if *f.at == 0 {
			*f.at = *fd[i].at
		}
		*f.at = min(*f.at, *fm[i].at)
	}
	return l
}

// declaredLimits reads the limits of a directive: numbers under the names above, or with
// max_ before them, as RYE OS's documents write them; spend is dollars, as a decimal. What
// looks like a limit and cannot be read is refused: passed over, it would not limit.
func declaredLimits(declared map[string]any) (l rye.ThreadLimits, err error) {
	fields := fieldsOf(&l)
	for name, v := range declared {
		short := strings.TrimPrefix(name, "max_")
		if short == "spend_currency" {
			if v != "USD" {
				return l, fault.New(fault.Malformed, "limit spend_currency: %v; only USD is known", v)
			}
			continue
		}
		if short == "duration" {
			short = "duration_seconds"
		}
		i := slices.IndexFunc(fields, func(f limitField) bool { return f.name == short })
		if i < 0 {
			return l, fault.New(fault.Malformed, "limit %s: a thread has turns, tokens, spend, spawns, depth, duration_seconds and output", name)
		}
		n, err := limitNumber(v, short == "spend")
		if err != nil {
			return l, fault.New(fault.Malformed, "limit %s: %w", name, err)
		}
		*fields[i].at = n
	}
	return l, nil
}

// limitNumber reads a positive whole number; of money also a decimal, which gives
// micro-dollars, rounded down.
func limitNumber(v any, money bool) (int64, error) {
	r, ok := new(big.Rat).SetString(strings.TrimPrefix(fmt.Sprint(v), "$"))
	if !ok {
		return 0, fmt.Errorf("%v is not a number", v)
	}
	if money {
		r.Mul(r, big.NewRat(1e6, 1))
	} else if !r.IsInt() {
		return 0, fmt.Errorf("%v is not a whole number", v)
	}
	n := new(big.Int).Quo(r.Num(), r.Denom())
	if n.Sign() <= 0 || !n.IsInt64() {
		return 0, fmt.Errorf("%v: want more than 0", v)
	}
	return n.Int64(), nil
}
