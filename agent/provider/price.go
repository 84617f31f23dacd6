package provider

import (
	"math"
	"math/big"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/internal/fields"
)

// money is an amount in billionths of a micro-dollar. As a price it is for one token: a dollar for
// a million tokens is a micro-dollar for one.
type money = *big.Int

// decimals is the largest number of decimals of a price. billion units of money are a micro-dollar.
const decimals = 9

var billion = big.NewInt(1e9)

// prices are the prices of a model by the length of the prompt, shortest first.
type prices struct{ bands []band }

// band has the prices for prompts of more than above tokens.
type band struct {
	above   int64
	buckets [6]money
}

// The buckets, in the order of rye.Usage.
const (
	inInput = iota
	inCacheRead
	inCacheWrite
	inCacheLong
	inOutput
	inReasoning
)

var bucketNames = [6]string{"input", "cache_read", "cache_write", "cache_write_long", "output", "reasoning"}

func buckets(u rye.Usage) [6]int64 {
	return [6]int64{u.Input, u.CacheRead, u.CacheWrite, u.CacheLong, u.Output, u.Reasoning}
}

func readPrices(g *fields.Group) *prices {
	out := &prices{}
	g.Text("since")
	out.bands = append(out.bands, readBand(g, 0))
	for _, sub := range g.Groups("long") {
		above := sub.Whole("above", 0, 1, 1e9)
		if above <= out.bands[len(out.bands)-1].above {
			sub.Fail("above", "want more than the one before")
		}
		out.bands = append(out.bands, readBand(sub, above))
		sub.End()
	}
	g.End()
	return out
}

// readBand reads six prices. A missing price equals the price of the nearest kind: reading from or
// writing to a cache costs as much as input, and reasoning as much as output.
func readBand(g *fields.Group, above int64) band {
	b := band{above: above}
	for i, name := range bucketNames {
		s := g.Text(name)
		if s == "" {
			if name == "input" || name == "output" {
				g.Fail(name, "want a price, as a text: dollars for a million tokens")
			}
			continue
		}
		n, ok := parsePrice(s)
		if !ok {
			g.Fail(name, "%q, want dollars for a million tokens, such as \"0.25\"", s)
		}
		b.buckets[i] = n
	}
	for i, like := range [6]int{inInput, inInput, inInput, inCacheWrite, inOutput, inOutput} {
		if b.buckets[i] == nil {
			b.buckets[i] = b.buckets[like]
		}
		if b.buckets[i] == nil { // refused above
			b.buckets[i] = new(big.Int)
		}
	}
	return b
}

// parsePrice reads at most six digits and nine decimals.
func parsePrice(s string) (money, bool) {
	whole, frac, dot := strings.Cut(s, ".")
	if whole == "" || len(whole) > 6 || dot && frac == "" || len(frac) > decimals || strings.Trim(whole+frac, "0123456789") != "" {
		return nil, false
	}
	return new(big.Int).SetString(whole+frac+strings.Repeat("0", decimals-len(frac)), 10)
}

// at returns the prices for a prompt of that many tokens.
func (p *prices) at(prompt int64) band {
	b := p.bands[0]
	for _, x := range p.bands {
		if prompt > x.above {
			b = x
		}
	}
	return b
}

// cost returns the cost of usage, rounded up to a micro-dollar.
func (p *prices) cost(u rye.Usage) rye.Micros {
	b := p.at(u.Input + u.CacheRead + u.CacheWrite + u.CacheLong)
	sum := new(big.Int)
	for i, n := range buckets(u) {
		sum.Add(sum, new(big.Int).Mul(b.buckets[i], big.NewInt(n)))
	}
	return micros(sum)
}

// micros rounds up, and returns at most the largest amount.
func micros(m money) rye.Micros {
	q, r := new(big.Int).QuoRem(m, billion, new(big.Int))
	if r.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	if !q.IsInt64() {
		return math.MaxInt64
	}
	return rye.Micros(q.Int64())
}

// reported reads an amount in dollars from a provider, in any form of a JSON number, and rounds it
// up.
func reported(s string) (rye.Micros, bool) {
	if len(s) > 40 || strings.ContainsAny(s, "/_xX") {
		return 0, false
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 && len(s)-i > 4 {
		return 0, false // no amount needs such an exponent, and expanding it would be slow
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok || r.Sign() < 0 {
		return 0, false
	}
	r.Mul(r, new(big.Rat).SetInt64(1e6))
	q, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	if !q.IsInt64() {
		return 0, false
	}
	return rye.Micros(q.Int64()), true
}

// Cost returns the cost of usage of m, rounded up to a micro-dollar; false when no price is known.
func (p *Provider) Cost(m *Model, u rye.Usage) (rye.Micros, bool) {
	if m.prices == nil {
		return 0, false
	}
	return m.prices.cost(u), true
}

// overhead are the tokens that a provider adds to a prompt around tools and turns. Anthropic
// documents up to about 700 for tools.
const overhead = 1024

// Worst returns the highest cost and number of tokens of one call, for a hold: a prompt of
// promptBytes encoded bytes, all of it written into the cache where the item caches, and maxOutput
// tokens of the most expensive kind. maxOutput is reduced to the model's maximum; 0 stands for that
// maximum. A model without a price gets the highest price of the provider in each bucket. So the
// amount is 0 only if the item says that all models are free.
//
// A token stands for at least the model's bytes_per_token bytes; docs/format/provider.md says how
// certain that is. The ledger records the part of a bill above the hold.
func (p *Provider) Worst(m *Model, promptBytes, maxOutput int64) (rye.Micros, int64) {
	const most = int64(1) << 40
	prompt := (min(max(promptBytes, 0), most)+m.perToken-1)/m.perToken + overhead
	if m.Context > 0 {
		prompt = min(prompt, m.Context)
	}
	output := min(max(maxOutput, 0), most)
	if m.MaxOutput > 0 && (output == 0 || output > m.MaxOutput) {
		output = m.MaxOutput
	}
	in, out := p.dearest(m, prompt)
	sum := new(big.Int).Mul(in, big.NewInt(prompt))
	sum.Add(sum, new(big.Int).Mul(out, big.NewInt(output)))
	return micros(sum), prompt + output
}

// dearest returns the highest prices of one token of a prompt of that length, and of one token of
// its answer.
func (p *Provider) dearest(m *Model, prompt int64) (in, out money) {
	var all []*prices
	if m.prices != nil {
		all = []*prices{m.prices}
	} else {
		if p.worst != nil {
			all = append(all, p.worst)
		}
		for i := range p.Models {
			if x := p.Models[i].prices; x != nil {
				all = append(all, x)
			}
		}
		if p.others != nil && p.others.prices != nil {
			all = append(all, p.others.prices)
		}
	}
	in, out = new(big.Int), new(big.Int)
	for _, x := range all {
		for _, b := range x.bands {
			if b.above >= prompt && b.above > 0 {
				continue
			}
			in = larger(in, b.buckets[inInput])
			in = larger(in, b.buckets[inCacheRead])
			if p.caching.mode != "none" {
				in = larger(in, b.buckets[inCacheWrite])
			}
			if p.caching.mode != "none" && p.caching.ttl == "1h" {
				in = larger(in, b.buckets[inCacheLong])
			}
			out = larger(larger(out, b.buckets[inOutput]), b.buckets[inReasoning])
		}
	}
	return in, out
}

func larger(a, b money) money {
	if a.Cmp(b) >= 0 {
		return a
	}
	return b
}
