package provider

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects/expr"
)

// usageMap says where a provider counts what, and which count holds which.
type usageMap struct {
	paths  [6]string // of the buckets; "" where the provider does not count it
	within [6]bool   // the count is a part of another (cache of input, long of short, reasoning of output)
	cost   string    // of an amount in dollars; "" for none
}

func (p *Provider) readUsage(g *group) {
	u := &p.usage
	for i, name := range bucketNames {
		u.paths[i] = g.text(name)
	}
	if u.paths[inInput] == "" || u.paths[inOutput] == "" {
		g.fail("input", "want the paths of input and output")
	}
	u.cost = g.text("cost")
	r := g.group("relations")
	for i, name := range bucketNames {
		if name == "input" || name == "output" {
			continue
		}
		u.within[i] = r.oneOf(name, "added", "added", "within") == "within"
	}
	r.end()
	g.end()
}

// tally is the newest count of each kind that an answer gave: providers count up, and may
// correct themselves.
type tally struct {
	counts [6]int64
	given  [6]bool
	cost   rye.Micros
	costed bool
}

// take reads one usage object. Numbers that cannot be counts are an error.
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

// countOf reads a whole number, which some write with a fraction of zero.
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

// usage sorts the counts into buckets that do not overlap; known is false when the answer
// did not say what was read and written. A part that is larger than what it is a part of
// leaves nothing of that, and never less.
func (t *tally) usage(u *usageMap, long bool) (out rye.Usage, known bool) {
	c := t.counts
	if long && !t.given[inCacheLong] { // it only counts what it wrote; all of it was asked to stay long
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
