package policy

import (
	"math/rand/v2"
	"os"
	"testing"
)

// A tree of delegation: each node asks for capabilities, and gets what its parent can
// give. The oracle knows no patterns. It lists every thing that can be done in a small
// world, and what a node may do is the set of those that one of its capabilities,
// matched letter by letter, means.

// world lists needs: each verb on a few ids, with dots where a star could cheat.
var world = func() (needs []string) {
	for _, verb := range []string{"execute", "load"} {
		for _, id := range allWords("ab.", 4) {
			needs = append(needs, "rye."+verb+".tool"+id)
		}
	}
	return needs
}()

type power [4]uint64 // one bit for each need of the world

func (p *power) add(i int) { p[i/64] |= 1 << (i % 64) }
func (p power) within(q power) bool {
	for i := range p {
		if p[i]&^q[i] != 0 {
			return false
		}
	}
	return true
}

// oracle remembers what a pattern means.
type oracle map[Cap]power

func (o oracle) of(cs Caps) (all power) {
	for _, c := range cs {
		p, ok := o[c]
		if !ok {
			for i, need := range world {
				if match(string(c), need) {
					p.add(i)
				}
			}
			o[c] = p
		}
		for i := range all {
			all[i] |= p[i]
		}
	}
	return all
}

func randomCap(r *rand.Rand) Cap {
	b := []byte([]string{"rye.execute.tool", "rye.load.tool", "rye.*.tool", "rye.*", "rye.execute.*"}[r.IntN(5)])
	for range r.IntN(5) {
		c := "ab.*"[r.IntN(4)]
		if last := b[len(b)-1]; c == '*' && last == '*' {
			continue
		}
		b = append(b, c)
	}
	return Cap(b)
}

func randomCaps(r *rand.Rand, most int) (cs Caps) {
	for range r.IntN(most + 1) {
		cs = append(cs, randomCap(r))
	}
	return cs
}

// TestCapabilityTrees grows trees and compares every node with the oracle: a child
// never holds what its parent does not, what it asked for and got is exactly what it
// asked for, and a refusal names something that the parent indeed does not hold whole.
// RYE_SOAK grows 100,000 of them.
func TestCapabilityTrees(t *testing.T) {
	trees := 20_000
	if os.Getenv("RYE_SOAK") != "" {
		trees = 100_000
	}
	if len(world) > 64*len(power{}) {
		t.Fatalf("a world of %d needs", len(world))
	}
	r := rand.New(rand.NewPCG(1, 2))
	o := oracle{}
	nodes, given, refused, narrowed := 0, 0, 0, 0
	for range trees {
		root := append(randomCaps(r, 3), randomCap(r))
		level := []Caps{root}
		for depth := 0; depth < 6 && len(level) > 0; depth++ {
			var next []Caps
			for _, parent := range level {
				may := o.of(parent)
				for range 1 + r.IntN(2) {
					nodes++
					want := randomCaps(r, 3)
					if r.IntN(3) == 0 && len(parent) > 0 { // something near what the parent has
						want = append(want, parent[r.IntN(len(parent))])
					}
					limit := Narrow(parent, want)
					if got := o.of(limit); !got.within(may) || !got.within(o.of(want)) {
						t.Fatalf("Narrow(%q, %q) = %q is wider than one of them", parent, want, limit)
					}
					child, err := Attenuate(parent, want)
					if err != nil {
						refused++
						if o.of(want).within(may) && len(want) == 1 && parent.Covers(want[0]) {
							t.Fatalf("Attenuate(%q, %q) = %v", parent, want, err)
						}
						child = limit
						narrowed++
					} else if given++; o.of(child) != o.of(want) {
						t.Fatalf("Attenuate(%q, %q) = %q, which is something else", parent, want, child)
					}
					if !o.of(child).within(may) || !o.of(child).within(o.of(root)) {
						t.Fatalf("a child of %q holds %q", parent, child)
					}
					for i, need := range world {
						if child.Covers(Cap(need)) != (o.of(child)[i/64]&(1<<(i%64)) != 0) {
							t.Fatalf("%q covers %s = %v, by the oracle not", child, need, child.Covers(Cap(need)))
						}
						if i > 8 && r.IntN(4) > 0 {
							break // every need for every node takes minutes and finds no more
						}
					}
					if len(child) > 0 && len(next) < 4 {
						next = append(next, child)
					}
				}
			}
			level = next
		}
	}
	t.Logf("%d trees, %d children: %d got what they asked for, %d were refused and narrowed", trees, nodes, given, refused)
	if given < trees/10 || narrowed < trees/10 {
		t.Errorf("%d given, %d refused: the trees test nothing", given, refused)
	}
}
