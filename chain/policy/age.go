package policy

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// Age is the least time between the publication of a version and its first use here.
type Age struct {
	Least  time.Duration
	Except []string // published items, or namespaces as "acme/*"
}

// MaxAge bounds min_age. The notes of when versions were first seen reach further back.
const MaxAge = 365 * 24 * time.Hour

// MinAge returns the least age for a version of an item: the largest in all policies that do not
// except the item.
func (r *Rules) MinAge(ref objects.Ref) (most time.Duration) {
	for _, a := range r.Ages {
		if !slices.ContainsFunc(a.Except, func(e string) bool { return excepts(e, ref) }) {
			most = max(most, a.Least)
		}
	}
	return most
}

func excepts(e string, ref objects.Ref) bool {
	ns, all := strings.CutSuffix(e, "/*")
	return all && ref.ID.Namespace() == ns || ref.Published() == e
}

// readAge reads min_age and min_age_except.
func readAge(text string, except []string) ([]Age, error) {
	if text == "" {
		if len(except) > 0 {
			return nil, fault.New(fault.Malformed, "policy: min_age_except without min_age")
		}
		return nil, nil
	}
	unit := map[byte]time.Duration{'d': 24 * time.Hour, 'h': time.Hour}[text[len(text)-1]]
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 16)
	least := time.Duration(n) * unit
	if err != nil || least <= 0 || least > MaxAge {
		return nil, fault.New(fault.Malformed, "policy: min_age %q: want days or hours, for example 7d or 12h, at most 365d", words.Brief(text))
	}
	for _, e := range except {
		ns, all := strings.CutSuffix(e, "/*")
		id, err := objects.ParseID(ns)
		ref, err2 := objects.ParseRef(e)
		if !(all && err == nil && id.Namespace() == ns) && (err2 != nil || ref.Published() != e) {
			return nil, fault.New(fault.Malformed, "policy: min_age_except %q: want an item like acme/tool/hello, or a namespace like acme/*", words.Brief(e))
		}
	}
	return []Age{{least, except}}, nil
}
