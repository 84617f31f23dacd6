package threads

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/session"
)

// MaxPinned bounds the bytes of the items in the first commit of a thread. Further items are there
// by their digests only.
const MaxPinned = 32 << 20

// Followable refuses a ref that a thread cannot follow. It is called first: a tool would run, while
// a directive is only read.
func Followable(ref objects.Ref) error {
	if ref.Kind == objects.Directive {
		return nil
	}
	err := fault.New(fault.Usage, "a thread needs a directive; %s is not one", ref)
	if ref.Kind == objects.Tool {
		return err.Mend("rye run %s", ref)
	}
	return err.Advise("rye list --kind directive shows the directives")
}

// Pin describes a directive and every item in use, as they are now: a thread begins with them, and
// later differences are refused to it. It does not fill in the directive's text with its inputs.
func Pin(ctx context.Context, s *session.Session, c rye.Caller, q rye.PinRequest) (*rye.Pinned, error) {
	f, err := s.Stack.Find(ctx, q.Ref)
	if err != nil {
		return nil, err
	}
	if err := s.Allow(c, "execute", q.Ref); err != nil {
		return nil, err
	}
	if w := s.Warning(q.Ref); w != "" && f.Registry != "" {
		s.Tell("warning: " + w)
	}
	it := f.Verified.Item()
	m := it.Meta
	p := &rye.Pinned{Ref: q.Ref, SHA256: it.Sum.String(), Signer: f.Verified.Key().Fingerprint().String(), Version: m.Version,
		Fields: m.Fields, Permissions: m.Permissions, Limits: m.Budget, Model: m.Model, Outputs: outputs(m.Outputs),
		Patched: f.Patched() != trust.NoPatch}
	reach := q.Capabilities
	if reach == nil {
		reach = m.Permissions
	}
	return p, pinItems(ctx, s, p, reach)
}

// pinItems lists the items in use, with the bytes of those within the capabilities. Other
// processes may edit items meanwhile. An item that changed since the listing is pinned as it is
// now, or left out if it may not be used now. A change of the directive itself is an error.
func pinItems(ctx context.Context, s *session.Session, p *rye.Pinned, capabilities []string) error {
	caps, err := policy.ParseCaps(dotted(capabilities))
	if err != nil {
		return err
	}
	rows, err := look.InUse(ctx, s)
	if err != nil {
		return err
	}
	if rows, err = withPrograms(ctx, s, rows, caps); err != nil {
		return err
	}
	p.Files = map[string][]byte{}
	size := 0
	for _, r := range rows {
		pinned := rye.PinnedItem{Ref: r.Ref.String(), Space: r.Space.String(), SHA256: r.Sum.String()}
		if r.Space == objects.System || !reached(caps, r.Ref) && r.Ref != p.Ref {
			p.Items = append(p.Items, pinned)
			continue // a release of the library is the same for everyone
		}
		f, err := s.Stack.Find(ctx, r.Ref)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if r.Ref == p.Ref && (err != nil || f.Verified.Item().Sum.String() != p.SHA256) {
			return fault.New(fault.Conflict, "%s changed while the thread was starting", r.Ref).Advise("try again")
		}
		if err != nil {
			continue
		}
		raw := f.Verified.Item().Raw
		pinned.Space, pinned.SHA256 = f.Space.String(), f.Verified.Item().Sum.String()
		p.Items = append(p.Items, pinned)
		if size += len(raw); size <= MaxPinned {
			p.Files[f.Space.String()+"/"+f.Path] = raw
		}
	}
	return nil
}

// withPrograms adds the programs of bundles within the capabilities: no list of items has them.
func withPrograms(ctx context.Context, s *session.Session, rows []space.Row, caps policy.Caps) ([]space.Row, error) {
	refs, err := s.Stack.Programs(ctx, session.LockedRefs(s))
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		if reached(caps, ref) && !slices.ContainsFunc(rows, func(r space.Row) bool { return r.Ref == ref }) {
			rows = append(rows, space.Row{Ref: ref, Space: objects.Project})
		}
	}
	slices.SortStableFunc(rows, func(a, b space.Row) int {
		return cmp.Or(cmp.Compare(a.Ref.Kind, b.Ref.Kind), cmp.Compare(a.Ref.ID, b.Ref.ID))
	})
	return rows, nil
}

// dotted spells capabilities with dots; RYE OS's directives may have slashes.
func dotted(capabilities []string) []string {
	out := make([]string, len(capabilities))
	for i, c := range capabilities {
		out[i] = strings.ReplaceAll(c, "/", ".")
	}
	return out
}

// reached reports whether a capability covers any verb on an item.
func reached(caps policy.Caps, ref objects.Ref) bool {
	return slices.ContainsFunc([]string{"execute", "load", "sign"}, func(verb string) bool { return caps.Covers(policy.Need(verb, ref)) })
}

// outputs are a directive's declared outputs.
func outputs(declared []objects.Output) (all []rye.PinnedOutput) {
	for _, o := range declared {
		all = append(all, rye.PinnedOutput{Name: o.Name, Type: o.Type, Description: o.Description, Required: o.Required})
	}
	return all
}

// FillIn gives p the text for the model, from the result of executing its directive.
func FillIn(p *rye.Pinned, res *rye.ExecuteResult) error {
	if p.SHA256 != res.Chain[0].Integrity {
		return fault.New(fault.Conflict, "%s changed while the thread was starting", p.Ref).Advise("try again")
	}
	var data struct {
		Body string `json:"body"`
	}
	if err := json.Unmarshal(res.Data, &data); err != nil {
		return fault.New(fault.Failed, "the text of %s: %w", p.Ref, err)
	}
	p.Instructions = data.Body
	return nil
}
