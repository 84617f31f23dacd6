package provider

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rye-os/rye"
)

func TestCost(t *testing.T) {
	p, m := parsed(t, strings.Replace(anthropicItem, `output: "15"}`, `output: "15", reasoning: "16", long: [{above: 100, input: "6", output: "22.50"}]}`, 1))
	for _, c := range []struct {
		u    rye.Usage
		want rye.Micros
	}{
		{rye.Usage{}, 0},
		{rye.Usage{CacheRead: 1}, 1},           // 0.3, rounded up
		{rye.Usage{CacheRead: 10}, 3},          // exact
		{rye.Usage{Input: 1, CacheRead: 1}, 4}, // 3.3
		{rye.Usage{Input: 2, CacheRead: 3, CacheWrite: 4, CacheLong: 5, Output: 6, Reasoning: 7}, 6 + 1 + 15 + 30 + 90 + 112}, // 253.9
		{rye.Usage{Input: 100}, 300},
		{rye.Usage{Input: 101}, 606},                     // a long prompt is dearer from its first token
		{rye.Usage{CacheRead: 101, Output: 2}, 606 + 45}, // and what the longer price does not say costs as much as what is read anew
		{rye.Usage{Input: math.MaxInt64 / 4}, math.MaxInt64},
	} {
		if got, ok := p.Cost(m, c.u); !ok || got != c.want {
			t.Errorf("Cost(%+v) = %d, %v, want %d", c.u, got, ok, c.want)
		}
	}
}

// TestCostIsExact compares with rational arithmetic, and checks that parts never cost less
// than the whole.
func TestCostIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		price := rapid.StringMatching(`[0-9]{1,4}(\.[0-9]{1,9})?`)
		b := band{}
		var rats [6]*big.Rat
		for i := range b.buckets {
			s := price.Draw(t, "price")
			n, ok := parsePrice(s)
			if !ok {
				t.Fatalf("parsePrice(%q)", s)
			}
			b.buckets[i] = n
			rats[i], _ = new(big.Rat).SetString(s)
		}
		ps := &prices{bands: []band{b}}
		count := rapid.Int64Range(0, 1e9)
		draw := func() rye.Usage {
			return rye.Usage{Input: count.Draw(t, "n"), CacheRead: count.Draw(t, "n"), CacheWrite: count.Draw(t, "n"), CacheLong: count.Draw(t, "n"), Output: count.Draw(t, "n"), Reasoning: count.Draw(t, "n")}
		}
		u, v := draw(), draw()
		sum := new(big.Rat)
		for i, n := range buckets(u) {
			sum.Add(sum, new(big.Rat).Mul(rats[i], new(big.Rat).SetInt64(n)))
		}
		got := new(big.Rat).SetInt64(int64(ps.cost(u)))
		if d := new(big.Rat).Sub(got, sum); d.Sign() < 0 || d.Cmp(new(big.Rat).SetInt64(1)) >= 0 {
			t.Fatalf("cost %v, exactly %v", got, sum)
		}
		if ps.cost(u)+ps.cost(v) < ps.cost(u.Plus(v)) {
			t.Fatal("two calls cost less than one")
		}
	})
}

func TestReported(t *testing.T) {
	for s, want := range map[string]int64{"0": 0, "0.000001": 1, "0.0000001": 1, "1.5e-7": 1, "12.34": 12340000, "1e3": 1e9, "1.5": 1500000,
		"-1": -1, "": -1, "1/3": -1, "0x10": -1, "1e999999999": -1, "1e99": -1, "NaN": -1, "9999999999999999": -1} {
		got, ok := reported(s)
		if ok != (want >= 0) || ok && int64(got) != want {
			t.Errorf("reported(%q) = %d, %v, want %d", s, got, ok, want)
		}
	}
}

// TestWorst: a hold is never less than what the call then costs.
func TestWorst(t *testing.T) {
	p, m := parsed(t, anthropicItem)
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.Int64Range(0, 390_000).Draw(t, "bytes")
		asked := rapid.Int64Range(1, 10_000).Draw(t, "asked")
		worst, tokens := p.Worst(m, bytes, asked)
		prompt := rapid.Int64Range(0, min(bytes/2+overhead, m.Context)).Draw(t, "prompt")
		read := rapid.Int64Range(0, prompt).Draw(t, "read")
		written := rapid.Int64Range(0, prompt-read).Draw(t, "written")
		out := rapid.Int64Range(0, min(asked, m.MaxOutput)).Draw(t, "out")
		u := rye.Usage{Input: prompt - read - written, CacheRead: read, CacheWrite: written, Output: out}
		if cost, _ := p.Cost(m, u); cost > worst || u.Total() > tokens {
			t.Fatalf("%d bytes, %d asked: held %d and %d tokens, cost %d and %d", bytes, asked, worst, tokens, cost, u.Total())
		}
	})
	if cost, tokens := p.Worst(m, 1<<40, 0); tokens != m.Context+m.MaxOutput || cost != 200000*15/4+4096*15 {
		t.Errorf("Worst of all = %d, %d", cost, tokens)
	}
}

// TestUnknownPrice: what nobody knows the price of is held at the dearest known, bucket by
// bucket, and its cost stays unknown.
func TestUnknownPrice(t *testing.T) {
	p, _ := parsed(t, anthropicItem+`  - {id: free, prices: {input: "0", output: "0"}}
  - {id: dear, prices: {input: "20", cache_read: "25", output: "1"}}
others: {max_output: 1000}
worst: {input: "1", output: "90"}
`)
	m, err := p.Model("somebody/new")
	if err != nil {
		t.Fatal(err)
	}
	if got, tokens := p.Worst(m, 2000, 50); got != (1000+overhead)*25+50*90 || tokens != 1000+overhead+50 {
		t.Errorf("Worst = %d, %d", got, tokens)
	}
	if cost, known := p.Cost(m, rye.Usage{Input: 5}); known || cost != 0 || m.Priced {
		t.Errorf("Cost = %d, %v", cost, known)
	}
	m, _ = p.Model("free")
	if got, _ := p.Worst(m, 2000, 50); got != 0 {
		t.Errorf("free: Worst = %d", got)
	}
}

// TestUsageRelations: whichever way a provider counts, the buckets add up to what it counted
// in all, and none is negative.
func TestUsageRelations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1e6)
		want := rye.Usage{Input: n.Draw(t, "in"), CacheRead: n.Draw(t, "read"), CacheWrite: n.Draw(t, "write"), CacheLong: n.Draw(t, "long"), Output: n.Draw(t, "out"), Reasoning: n.Draw(t, "reasoning")}
		u := usageMap{}
		c := buckets(want)
		for i := range u.within {
			u.within[i] = i != inInput && i != inOutput && rapid.Bool().Draw(t, "within")
		}
		if u.within[inCacheLong] {
			c[inCacheWrite] += c[inCacheLong]
		}
		if u.within[inCacheRead] {
			c[inInput] += c[inCacheRead]
		}
		if u.within[inCacheWrite] {
			c[inInput] += c[inCacheWrite]
		}
		if u.within[inReasoning] {
			c[inOutput] += c[inReasoning]
		}
		all := tally{counts: c, given: [6]bool{true, true, true, true, true, true}}
		if got, known := all.usage(&u, true); got != want || !known {
			t.Fatalf("usage = %+v, want %+v (within %v)", got, want, u.within)
		}
		wild := tally{counts: buckets(rye.Usage{Input: n.Draw(t, "x"), CacheRead: n.Draw(t, "x"), CacheWrite: n.Draw(t, "x"), CacheLong: n.Draw(t, "x"), Output: n.Draw(t, "x"), Reasoning: n.Draw(t, "x")})}
		got, _ := wild.usage(&u, false)
		for i, x := range buckets(got) {
			if x < 0 {
				t.Fatalf("%s is %d", bucketNames[i], x)
			}
		}
	})
	// what was written for an hour, where the answer only says what was written
	u := usageMap{within: [6]bool{inCacheLong: true}}
	one := tally{counts: [6]int64{inInput: 1, inCacheWrite: 9, inOutput: 1}, given: [6]bool{inInput: true, inCacheWrite: true, inOutput: true}}
	if got, _ := one.usage(&u, true); got.CacheLong != 9 || got.CacheWrite != 0 {
		t.Errorf("for an hour: %+v", got)
	}
	if got, _ := one.usage(&u, false); got.CacheLong != 0 || got.CacheWrite != 9 {
		t.Errorf("for five minutes: %+v", got)
	}
}
