package provider

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/internal/fields"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects/expr"
)

// usageMap has the paths of a provider's counts, and the counts that are parts of others.
type usageMap struct {
	paths  [6]string // of the buckets; "" when the provider does not count one
	within [6]bool   // the count is a part of another (cache of input, long of short, reasoning of output)
	cost   string    // path of an amount in dollars; "" for none
}

func (p *Provider) readUsage(g *fields.Group) {
	u := &p.usage
	for i, name := range bucketNames {
		u.paths[i] = g.Text(name)
	}
	if u.paths[inInput] == "" || u.paths[inOutput] == "" {
		g.Fail("input", "want the paths of input and output")
	}
	u.cost = g.Text("cost")
	r := g.Group("relations")
	for i, name := range bucketNames {
		if name == "input" || name == "output" {
			continue
		}
		u.within[i] = r.OneOf(name, "added", "added", "within") == "within"
	}
	r.End()
	g.End()
}

// tally has the newest count of each kind in an answer: providers count up, and may correct
// themselves.
type tally struct {
	counts [6]int64
	given  [6]bool
	cost   rye.Micros
	costed bool
}

// take reads one usage object. An invalid count is an error.
func (t *tally) take(u *usageMap, raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	v, err := decodeAny(raw)
	if err != nil {
		return err
	}
	for i, path := range u.paths {
		if path == "" {
			continue
		}
		n, ok := expr.Get(v, path)
		if !ok || n == nil {
			continue
		}
		count, err := countOf(n)
		if err != nil {
			return fmt.Errorf("usage %s: %w", path, err)
		}
		t.counts[i], t.given[i] = count, true
	}
	if n, ok := expr.Get(v, u.cost); ok && u.cost != "" && n != nil {
		t.cost, t.costed = reported(strings.TrimSpace(expr.Text(n)))
	}
	return nil
}

// countOf reads a whole number; some providers write it with a fraction of zero.
func countOf(v any) (int64, error) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, fmt.Errorf("not a number")
	}
	if i, err := strconv.ParseInt(n.String(), 10, 64); err == nil && i >= 0 && i <= 1e12 {
		return i, nil
	}
	f, err := n.Float64()
	if err != nil || f < 0 || f > 1e12 || f != math.Trunc(f) {
		return 0, fmt.Errorf("%s is not a count of tokens", words.Brief(n.String()))
	}
	return int64(f), nil
}

// usage sorts the counts into buckets that do not overlap; known is false if the answer lacks the
// input or the output. A part that is larger than its whole leaves 0 of the whole.
func (t *tally) usage(u *usageMap, long bool) (out rye.Usage, known bool) {
	c := t.counts
	if long && !t.given[inCacheLong] { // the provider counts only one kind of write, and the request asked for the long one
		c[inCacheLong] = c[inCacheWrite]
		if !u.within[inCacheLong] {
			c[inCacheWrite] = 0
		}
	}
	rest := func(whole int64, part int) int64 {
		if u.within[part] {
			return max(0, whole-c[part])
		}
		return whole
	}
	out.Input = rest(rest(c[inInput], inCacheRead), inCacheWrite)
	out.CacheRead = c[inCacheRead]
	out.CacheWrite = rest(c[inCacheWrite], inCacheLong)
	out.CacheLong = c[inCacheLong]
	out.Output = rest(c[inOutput], inReasoning)
	out.Reasoning = c[inReasoning]
	return out, t.given[inInput] && t.given[inOutput]
}
