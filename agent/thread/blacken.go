package thread

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/rye-os/rye/agent/provider"
)

// blackener takes secrets out of what enters a thread, before a model, the journal, a person
// or a digest has it. It knows the secrets that this process was given, in the forms in which
// they are passed around.
type blackener struct {
	values  []string
	longest int
}

// shortest is the length in bytes below which a secret would be found in any text.
const shortest = 8

const black = "[secret]"

func newBlackener(secrets []string) *blackener {
	b := &blackener{}
	for _, s := range secrets {
		if len(s) < shortest {
			continue
		}
		quoted, _ := json.Marshal(s)
		forms := []string{s, strings.Trim(string(quoted), `"`), url.QueryEscape(s), url.PathEscape(s),
			base64.StdEncoding.EncodeToString([]byte(s)), base64.RawURLEncoding.EncodeToString([]byte(s))}
		b.values = append(b.values, forms...)
	}
	slices.SortFunc(b.values, func(x, y string) int { return len(y) - len(x) })
	b.values = slices.Compact(b.values)
	if len(b.values) > 0 {
		b.longest = len(b.values[0])
	}
	return b
}

// text returns s without secrets.
func (b *blackener) text(s string) string {
	for _, v := range b.values {
		s = strings.ReplaceAll(s, v, black)
	}
	return s
}

// parts does the same for what a model answered. An opaque part is never changed, since it
// goes back as it came: one that holds a secret is dropped.
func (b *blackener) parts(parts []provider.Part) (out []provider.Part) {
	for _, p := range parts {
		switch {
		case p.Opaque != nil:
			if b.text(string(p.Opaque.Raw)) != string(p.Opaque.Raw) {
				continue
			}
			o := *p.Opaque
			o.Text = b.text(o.Text)
			p.Opaque = &o
		case p.Call != nil:
			c := *p.Call
			c.Name, c.ID = b.text(c.Name), b.text(c.ID)
			if args := b.text(string(c.Args)); json.Valid([]byte(args)) {
				c.Args = json.RawMessage(args)
			}
			p.Call = &c
		default:
			p.Text = b.text(p.Text)
		}
		out = append(out, p)
	}
	return out
}

// holdback keeps back the end of a text that comes in pieces, which may be the beginning of a
// secret.
type holdback struct{ kept string }

// add takes a piece and returns what can be shown.
func (h *holdback) add(b *blackener, piece string) string {
	h.kept = b.text(h.kept + piece)
	keep := max(0, b.longest-1)
	if b.longest == 0 {
		keep = 0
	}
	if len(h.kept) <= keep {
		return ""
	}
	cut := len(h.kept) - keep
	for cut > 0 && h.kept[cut-1] >= 0x80 && cut < len(h.kept) && h.kept[cut]&0xc0 == 0x80 { // not within a character
		cut--
	}
	out := h.kept[:cut]
	h.kept = h.kept[cut:]
	return out
}

// rest returns what was kept back.
func (h *holdback) rest(b *blackener) string {
	out := b.text(h.kept)
	h.kept = ""
	return out
}
