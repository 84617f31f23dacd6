package look

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// maxExtends bounds the number of configurations below one.
const maxExtends = 8

// extends is the field that names the configuration below.
const extends = "extends"

// Config merges a configuration from every layer, the system's weakest, over the one that it
// extends: docs/format/config.md. A layer that may not be used refuses the whole, since
// otherwise its part would be missing unnoticed. The caller has to hold the capability to
// load each of the items.
func Config(ctx context.Context, s *session.Session, c rye.Caller, name string) (*rye.ConfigResult, error) {
	id, err := objects.ParseID(name)
	if err != nil {
		return nil, err
	}
	res := &rye.ConfigResult{Name: name, Value: map[string]any{}}
	var above []objects.ID // from the top down
	var docs []map[string]any
	for id != "" {
		if err := mayExtend(above, id); err != nil {
			return nil, err
		}
		doc, from, err := layers(ctx, s, c, objects.Ref{Kind: objects.Config, ID: id})
		if err != nil && len(above) > 0 {
			err = fault.Wrap(err, "config:%s extends it", above[len(above)-1])
		}
		if err != nil {
			return nil, err
		}
		above = append(above, id)
		if id, err = baseOf(id, doc); err != nil {
			return nil, err
		}
		docs = append(docs, doc)
		res.Sources = append(from, res.Sources...)
	}
	for _, doc := range slices.Backward(docs) {
		res.Value = objects.MergeConfig(res.Value, doc)
	}
	if _, err := json.Marshal(res.Value); err != nil {
		return nil, fault.New(fault.Malformed, "config:%s: it has a number that JSON cannot express, such as .inf", name)
	}
	return res, nil
}

// mayExtend refuses a cycle, and too many levels.
func mayExtend(above []objects.ID, id objects.ID) error {
	switch {
	case slices.Contains(above, id):
		return fault.New(fault.Conflict, "config:%s extends config:%s, which already extends it", above[len(above)-1], id)
	case len(above) > maxExtends:
		return fault.New(fault.Limit, "config:%s: it extends more than %d others", above[0], maxExtends)
	}
	return nil
}

// baseOf removes from a merged document the id that it extends, and returns it; "" for none.
func baseOf(of objects.ID, doc map[string]any) (objects.ID, error) {
	v, ok := doc[extends]
	delete(doc, extends)
	if !ok || v == nil { // null cancels a weaker layer's value
		return "", nil
	}
	text, ok := v.(string)
	id, err := objects.ParseID(text)
	if !ok || err != nil {
		return "", fault.New(fault.Malformed, "config:%s: extends %q: want the id of another configuration, such as acme/base", of, words.Brief(InputText(v)))
	}
	return id, nil
}

// layers merges the spaces' documents under one ref, the weakest first.
func layers(ctx context.Context, s *session.Session, c rye.Caller, ref objects.Ref) (map[string]any, []rye.ConfigSource, error) {
	if err := s.Allow(c, "load", ref); err != nil {
		return nil, nil, err
	}
	s = s.For(c, ref)
	doc, from := map[string]any{}, []rye.ConfigSource(nil)
	for sp := objects.System; sp <= objects.Project; sp++ {
		f, ok, err := s.Stack.In(ctx, sp, ref)
		if ok && err == nil {
			f, ok, err = s.Stack.Settle(ctx, f)
		}
		if err == nil && ok {
			f = space.Admit(ctx, s.Stack, f)
			err = f.Err
		}
		if err != nil {
			return nil, nil, fault.Wrap(err, "merge the layers")
		}
		if !ok {
			continue
		}
		it := f.Verified.Item()
		doc = objects.MergeConfig(doc, it.Meta.Config)
		source := rye.ConfigSource{Ref: ref.String(), Space: f.Space.String(), SHA256: it.Sum.String()}
		if f.Patched() != trust.NoPatch {
			source.State = objects.Patched
		}
		from = append(from, source)
	}
	if from == nil {
		return nil, nil, space.Missing(ctx, s.Stack, ref, "not found")
	}
	return doc, from, nil
}
