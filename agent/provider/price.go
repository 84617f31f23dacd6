package provider

import (
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/rye-os/rye"
)

// money is an amount in billionths of a micro-dollar. As a price it is for one token: a
// dollar for a million tokens is a micro-dollar for one.
type money = *big.Int

// billion is how many of these make a micro-dollar; a price has at most nine decimals.
const decimals = 9

var billion = big.NewInt(1e9)

// prices of a model: by how long the prompt is, shortest first.
type prices struct{ bands []band }

// band are the prices for prompts of more than above tokens.
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

func (g *group) readPrices() *prices {
	out := &prices{}
	g.text("since")
	out.bands = append(out.bands, g.readBand(0))
	for i, v := range g.list("long", false) {
		sub := g.r.group(fmt.Sprintf("%s.long.%d", g.path, i), v)
		above := sub.whole("above", 0, 1, 1e9)
		if above <= out.bands[len(out.bands)-1].above {
			sub.fail("above", "want more than the one before")
		}
		out.bands = append(out.bands, sub.readBand(above))
		sub.end()
	}
	g.end()
	return out
}

// readBand reads six prices. What is not said costs what is nearest to it: read from a
// cache or into one as read anew, reasoning as output.
func (g *group) readBand(above int64) band {
	b := band{above: above}
	for i, name := range bucketNames {
		s := g.text(name)
		if s == "" {
			if name == "input" || name == "output" {
				g.fail(name, "want a price, as a text: dollars for a million tokens")
			}
			continue
		}
		n, ok := parsePrice(s)
		if !ok {
			g.fail(name, "%q, want dollars for a million tokens, such as \"0.25\"", s)
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

// at returns the prices for a prompt of so many tokens.
func (p *prices) at(prompt int64) band {
	b := p.bands[0]
	for _, x := range p.bands {
		if prompt > x.above {
			b = x
		}
	}
	return b
}

// cost is what usage costs, rounded up to a micro-dollar.
func (p *prices) cost(u rye.Usage) rye.Micros {
	b := p.at(u.Input + u.CacheRead + u.CacheWrite + u.CacheLong)
	sum := new(big.Int)
	for i, n := range buckets(u) {
		sum.Add(sum, new(big.Int).Mul(b.buckets[i], big.NewInt(n)))
	}
	return micros(sum)
}

// micros rounds up, and stops at the largest amount there is.
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

// reported reads an amount in dollars as a provider reports it, in any form of a number of
// JSON, and rounds it up.
func reported(s string) (rye.Micros, bool) {
	if len(s) > 40 || strings.ContainsAny(s, "/_xX") {
		return 0, false
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 && len(s)-i > 4 {
		return 0, false // an exponent that no amount has, and that would be long to write out
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

// Cost is what usage of m costs, rounded up to a micro-dollar; false when no price is known.
func (p *Provider) Cost(m *Model, u rye.Usage) (rye.Micros, bool) {
	if m.prices == nil {
		return 0, false
	}
	return m.prices.cost(u), true
}

// overhead are the tokens that a provider adds to a prompt: its own words around tools and
// turns. Anthropic documents up to some 700 for tools.
const overhead = 1024

// Worst says what one call may cost and use at most, for a hold: a prompt of promptBytes
// encoded bytes, all of it written into the cache where the item caches, and maxOutput
// tokens of the dearest kind. maxOutput is cut to what the model can; 0 stands for that. A
// model without a price has the dearest one of the provider, bucket by bucket, so that the
// amount is 0 only where the item says that all is free.
//
// A token stands for at least the model's bytes_per_token bytes; docs/format/provider.md says
// how sure that is. What is billed beyond is the ledger's to record.
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

// dearest returns the highest price that a token of a prompt so long, and one of its
// answer, may have.
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
