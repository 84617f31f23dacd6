package author

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/internal/diff"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/scaffold"
	"github.com/rye-os/rye/store/space"
)

// A proposal is an item that arrives as a text: its sender has no files here. Nothing of it
// is kept before a person agreed to the whole of it. Then it is written and signed in one
// step, as if that person had written it.

// proposed makes the draft of the text in a request. An existing file with the same text is
// signed as it is.
func (g *signing) proposed(ctx context.Context, ref objects.Ref) *draft {
	d := &draft{ref: ref, SignResult: rye.SignResult{Ref: ref.String(), Status: "failed"}}
	p, there, err := lies(g.layer, ref)
	if err == nil {
		p, err = scaffold.Path(ref, p, g.q.Ext, g.q.Content)
	}
	if err != nil {
		d.err = err
		return d
	}
	d.path, d.Path = p, ".ai/"+p
	body := unsigned(p, []byte(g.q.Content))
	if there != nil && string(unsigned(p, there)) == string(body) {
		return g.item(ctx, ref)
	}
	it, err := objects.Parse(p, body)
	if err != nil {
		d.err = err
		return d
	}
	d.proposal, d.there = true, there
	if _, d.err = g.signItem(ctx, d, it); there == nil {
		return d
	}
	if old, err := objects.Parse(p, there); err == nil {
		_, refused := trust.Verify(old, g.scope, g.Trust)
		if d.before = foreignTo(g.Trust, old, refused); d.before != nil {
			d.SignedBy = d.before.key
		}
	}
	return d
}

// lies returns the path of the file of ref, and its bytes; "" and nil for none.
func lies(l *space.Layer, ref objects.Ref) (p string, raw []byte, err error) {
	if p, err = l.Locate(ref); err == nil && p != "" {
		raw, err = l.Read(p)
	}
	return p, raw, err
}

// unsigned is a file without its signature line. A caller that loads an item, edits it and
// sends it back sends that line, too.
func unsigned(p string, raw []byte) []byte {
	if body, _, _, err := objects.Split(p, raw); err == nil {
		return body
	}
	return raw
}

// replaces shows the effect of a proposal on the existing file. For the user's own file that is
// the change; for any other the removed lines, and then the whole text.
func (g *signing) replaces(d *draft, body []byte) []string {
	if d.there == nil {
		return append([]string{"new:"}, diff.Lines("", string(body))...)
	}
	change := diff.Lines(string(unsigned(d.path, d.there)), string(body))
	if old, err := objects.Parse(d.path, d.there); err == nil && g.mine(old) == nil {
		return append([]string{"changed:"}, change...)
	}
	lines := append([]string{"it replaces a file without your signature:"}, change...)
	return append(append(lines, "all of it:"), diff.Lines("", string(body))...)
}
