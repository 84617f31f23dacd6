package run

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/strict"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/locks"
	"github.com/rye-os/rye/workspace/internal/look"
)

// instruct returns the text of a directive, with its inputs, or of a knowledge entry, for a
// model to follow or to know.
func (j *job) instruct(f space.Found) (*rye.ExecuteResult, error) {
	j.watch.lap(&j.watch.parts.Verify)
	it := f.Item()
	params := map[string]any{}
	if len(j.q.Params) > 0 {
		if err := strict.Decode(j.q.Params, chain.MaxParams, &params); err != nil {
			return nil, fault.New(fault.Usage, "parameters of %s: %w", it.Ref, err)
		}
	}
	res := &rye.ExecuteResult{Status: "success", Type: string(it.Ref.Kind), ItemID: string(it.Ref.ID)}
	m := it.Meta
	data := map[string]any{"name": m.Name, "version": m.Version, "description": m.Description, "category": m.Category}
	switch it.Ref.Kind {
	case objects.Directive:
		inputs, err := fillInputs(it, params, j.q.Texts)
		if err != nil {
			return nil, withParams(it, err)
		}
		res.Inputs, res.Instructions = inputs, "Execute the directive as specified now."
		data["body"], data["author"], data["permissions"], data["limits"] = interpolate(m.Prose, inputs), m.Author, m.Permissions, m.Budget
		data["model"], data["outputs"], data["hooks"], data["actions"] = m.Model, look.Outputs(it), m.Fields["hooks"], m.Actions
	case objects.Knowledge:
		res.Instructions = "Use this knowledge to inform your decisions."
		data["title"], data["entry_type"], data["tags"], data["body"] = m.Title, m.EntryType, m.Tags, m.Prose
	default:
		return nil, fault.New(fault.Usage, "execute %s: config items configure rye and do not run", it.Ref).Mend("rye load %s", it.Ref)
	}
	if j.q.DryRun {
		res.Status, res.Instructions = "validation_passed", ""
	}
	var err error
	if res.Data, err = json.Marshal(data); err != nil {
		return nil, err
	}
	link := linkOf(f.Verified, f.Space)
	link.State = cmp.Or(locks.StateOf(f), link.State)
	res.Metadata.Patched = chain.PatchedOf(nil, f.Verified).Names()
	res.Chain = []rye.ChainLink{link}
	res.Metadata.Warnings = j.warnings
	res.Metadata.DurationMS, res.Metadata.Timings = j.watch.read()
	return res, nil
}

// withParams adds the item's parameters to an error about them.
func withParams(it *objects.Item, err error) error {
	if !fault.Is(err, fault.Usage) {
		return err
	}
	return &rye.ParamError{Params: look.Parameters(it), Err: err}
}

// fillInputs checks a directive's parameters against its declared inputs. With texts it reads
// each text as a value of its input's type, if it is one.
func fillInputs(it *objects.Item, got map[string]any, texts bool) (map[string]any, error) {
	inputs := map[string]any{}
	var names, missing []string
	for _, in := range it.Meta.Inputs {
		names = append(names, in.Name)
		v, ok := got[in.Name]
		if ok {
			if meant, is := in.Read(v); texts && is {
				v = meant
			}
			if err := fits(it.Ref, in, v); err != nil {
				return nil, err
			}
		} else {
			v, ok = in.DefaultValue()
		}
		switch {
		case ok:
			inputs[in.Name] = v
		case in.Required:
			missing = append(missing, in.Name)
		}
	}
	for name := range got {
		if !slices.Contains(names, name) {
			return nil, fault.New(fault.Usage, "%s: unknown parameter %q", it.Ref, name).Advise("its inputs are: %s", strings.Join(names, ", "))
		}
	}
	if len(missing) > 0 {
		return nil, fault.New(fault.Usage, "%s: missing required inputs: %s", it.Ref, strings.Join(missing, ", ")).Advise("rye run %s -p %s=...", it.Ref, missing[0])
	}
	return inputs, nil
}

// fits refuses a value of another type than its input. With -p name=3 a parameter is a text; if
// that is a value of the type, the advice shows how to pass it as one.
func fits(ref objects.Ref, in objects.Input, v any) error {
	wrong := in.Fit(v)
	if wrong == "" {
		return nil
	}
	err := fault.New(fault.Usage, "%s: input %s %s", ref, in.Name, wrong)
	if _, is := in.Read(v); is {
		return err.Advise("-p %s:=… passes JSON instead of text: rye run %s -p %s:=…", in.Name, ref, in.Name)
	}
	return err.Advise("rye show %s shows its inputs", ref)
}

// interpolate replaces {input:key}, {input:key?} and {input:key:default} in a directive's text,
// once: it never reads the content of a value as a template. A key without a value stays as it
// is, becomes empty, or becomes the default.
func interpolate(text string, inputs map[string]any) string {
	var b strings.Builder
	for {
		i := strings.Index(text, "{input:")
		if i < 0 {
			break
		}
		end := strings.IndexByte(text[i:], '}')
		if end < 0 {
			break
		}
		b.WriteString(text[:i])
		whole := text[i : i+end+1]
		b.WriteString(inputValue(whole, inputs))
		text = text[i+end+1:]
	}
	b.WriteString(text)
	return b.String()
}

// inputValue returns the replacement for one template of interpolate.
func inputValue(whole string, inputs map[string]any) string {
	key, def, hasDefault := strings.Cut(whole[len("{input:"):len(whole)-1], ":")
	key, optional := strings.CutSuffix(key, "?")
	v, ok := inputs[key]
	switch {
	case ok:
		return look.InputText(v)
	case hasDefault:
		return def
	case optional:
		return ""
	}
	return whole
}
