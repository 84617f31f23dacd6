package modelhost

import (
	"sync"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/provider/script"
)

const (
	mostSeen = 1 << 16 // prefixes that a cache stores
	lookBack = 20      // pieces before a breakpoint that are tried (Anthropic, prompt caching)
)

// A cache stores the beginnings of prompts that it has seen. Nothing expires, but the oldest ones
// are removed when there are too many.
type cache struct {
	mu    sync.Mutex
	seen  map[[32]byte]bool
	order [][32]byte
}

// usage counts the tokens of a prompt by bucket, and stores the prompt. OpenAI reports the tokens
// that are stored for later as part of the prompt only.
func (c *cache) usage(p *prompt) rye.Usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, read := -1, int64(0)
	for i := range p.marks {
		if p.marks[i].write == "" {
			continue
		}
		last = i
		for k := i; k >= 0 && k > i-lookBack; k-- {
			if c.seen[p.marks[k].sum] {
				read = max(read, p.marks[k].size)
				break
			}
		}
	}
	u := rye.Usage{CacheRead: script.Tokens(read)}
	from := read
	for i := range p.marks[:last+1] {
		m := p.marks[i]
		if m.write == "" {
			continue
		}
		c.put(m.sum)
		if m.size > from {
			n := script.Tokens(m.size) - script.Tokens(from)
			if from = m.size; m.write == "1h" {
				u.CacheLong += n
			} else {
				u.CacheWrite += n
			}
		}
	}
	u.Input = script.Tokens(p.Size) - script.Tokens(from)
	return u
}

func (c *cache) put(sum [32]byte) {
	if c.seen[sum] {
		return
	}
	if c.seen == nil {
		c.seen = map[[32]byte]bool{}
	}
	if len(c.order) == mostSeen {
		delete(c.seen, c.order[0])
		c.order = c.order[1:]
	}
	c.seen[sum] = true
	c.order = append(c.order, sum)
}
