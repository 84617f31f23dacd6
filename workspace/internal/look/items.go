package look

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/parallel"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/extract"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// InputText spells a value: strings as they are, everything else as JSON.
func InputText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(raw)
}

// Status reports every item of the project with its state, sorted by ref. Files
// that have not changed since they were last verified are answered from the
// catalogue in the cache directory; nothing else is written.
func Status(ctx context.Context, s *session.Session) (items []rye.ItemInfo, err error) {
	k, err := look(ctx, s, objects.Project)
	if err != nil {
		return nil, err
	}
	return describeTwins(k.Rows()), nil
}

// Survey counts the items of the project by state, and returns, sorted by ref, those
// that there is something to do about or to know of. What is signed, recorded and
// alone at its name is counted only, so that a clean project of ten thousand items
// takes as long as git status takes there. Otherwise it is Status.
func Survey(ctx context.Context, s *session.Session) (sum *rye.Survey, err error) {
	k, err := look(ctx, s, objects.Project)
	if err != nil {
		return nil, err
	}
	sum = &rye.Survey{Count: map[rye.State]int{}}
	var rest []space.Row
	clean := 0
	for i := range k.Len() {
		if k.Clean(i) {
			clean++
			continue
		}
		row := k.Row(i)
		sum.Count[row.State]++
		rest = append(rest, row)
	}
	if clean > 0 {
		sum.Count[objects.Signed] += clean
	}
	sum.Items = describeTwins(rest)
	return sum, nil
}

// describeTwins is describeAll for rows sorted by ref, and says where two files are
// one item.
func describeTwins(rows []space.Row) []rye.ItemInfo {
	all := describeAll(rows)
	for i := range rows {
		if twin := twinOf(rows, i); twin != "" {
			all[i].Why = strings.TrimPrefix(all[i].Why+"; "+twin+" is this item too: keep one of them", "; ")
		}
	}
	return all
}

// describeAll is describe for many, on every processor: most of it is spelling
// digests.
func describeAll(rows []space.Row) []rye.ItemInfo {
	all := make([]rye.ItemInfo, len(rows))
	_ = parallel.Chunks(context.Background(), len(rows), 1024, func(i int) error { // soon done, and fails at nothing
		all[i] = describe(&rows[i])
		return nil
	})
	return all
}

// twinOf returns the path of another file for the ref of row i, in rows sorted by
// ref. Both may be loaded by a tool that they lie beside; neither can be asked for.
func twinOf(rows []space.Row, i int) string {
	for _, j := range [...]int{i - 1, i + 1} {
		if j >= 0 && j < len(rows) && rows[j].Ref == rows[i].Ref && rows[i].Ref.Kind != "" && rows[j].State != objects.Deleted && rows[i].State != objects.Deleted {
			return rows[j].Path
		}
	}
	return ""
}

// List reports items, each ref once with the spaces that it shadows.
func List(ctx context.Context, s *session.Session, q rye.ListRequest) ([]rye.ItemInfo, error) {
	if q.Kind != "" {
		if _, err := objects.ParseKind(q.Kind); err != nil {
			return nil, err
		}
	}
	if _, err := extractors(ctx, s); err != nil {
		return nil, err // what they would have shown cannot be told
	}
	all, err := catalogue(ctx, s, q.Space)
	if err != nil {
		return nil, err
	}
	kept := all[:0]
	for _, it := range all {
		if q.Kind == "" || it.Kind == q.Kind {
			kept = append(kept, it)
		}
	}
	return kept, nil
}

// Show describes one item: the one that would be used, or with All every space's.
func Show(ctx context.Context, s *session.Session, q rye.ShowRequest) ([]rye.ItemInfo, error) {
	set, err := extractors(ctx, s)
	if _, is := extract.KindOf(q.Ref); err != nil && !is {
		return nil, err
	}
	var shown []rye.ItemInfo
	for sp := objects.Project; sp >= objects.System; sp-- {
		f, ok, err := s.Stack.In(ctx, sp, q.Ref)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if len(shown) > 0 {
			shown[0].Shadows = append(shown[0].Shadows, sp.String())
		}
		if len(shown) == 0 || q.All {
			r := f.Row(set)
			i := describe(&r)
			if f.Item != nil {
				i.Executor, i.Params = string(f.Item.Meta.Executor), parameters(f.Item)
			}
			shown = append(shown, i)
		}
	}
	if len(shown) == 0 {
		return nil, fault.New(fault.NotFound, "%s: in no space", q.Ref).Mend("rye search %s", q.Ref.ID.Name())
	}
	return shown, nil
}

// parameters lists what an item takes: a directive's inputs, or the properties of
// a tool's schema.
func parameters(it *objects.Item) []rye.ParamInfo {
	var all []rye.ParamInfo
	for _, in := range it.Meta.Inputs {
		all = append(all, rye.ParamInfo{Name: in.Name, Type: in.Type, Required: in.Required, Default: in.Default, Description: in.Description})
	}
	props, _ := it.Meta.Schema["properties"].(map[string]any)
	required, _ := it.Meta.Schema["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(props)) {
		p := rye.ParamInfo{Name: name, Required: slices.Contains(required, any(name))}
		if m, ok := props[name].(map[string]any); ok {
			p.Type, _ = m["type"].(string)
			p.Description, _ = m["description"].(string)
			if d, ok := m["default"]; ok {
				p.Default = InputText(d)
			}
		}
		all = append(all, p)
	}
	return all
}

// Scan judges everything in one space.
func Scan(ctx context.Context, s *session.Session, sp objects.Space) ([]space.Finding, error) {
	if sp == objects.System {
		return s.Stack.ScanSystem()
	}
	l, err := s.Stack.Layer(sp)
	if err != nil {
		return nil, err
	}
	found, err := s.Stack.Scan(ctx, l)
	if err != nil || sp != objects.Project || s.Lock == nil {
		return found, err
	}
	own := map[objects.Ref]bool{}
	for _, f := range found {
		own[f.Ref] = true
	}
	return append(found, lockedBeside(s, func(ref objects.Ref) bool { return own[ref] })...), nil
}

// lockedBeside returns the items of registries that no own file stands before.
func lockedBeside(s *session.Session, own func(objects.Ref) bool) []space.Finding {
	var refs []objects.Ref
	for ref, it := range s.Lock.Items {
		if it.From != "" && !own(ref) {
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, func(a, b objects.Ref) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	return s.Stack.ScanLock(refs)
}

// look is scan for lists: files that have not changed are not read again.
func look(ctx context.Context, s *session.Session, sp objects.Space) (k *space.Look, err error) {
	if sp == objects.System {
		set, err := extractors(ctx, s) // none where they cannot be used, as in Look
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		found, err := s.Stack.ScanSystem()
		return space.LookAt(space.RowsOf(found, set)), err
	}
	l, err := s.Stack.Layer(sp)
	if err != nil {
		return nil, err
	}
	k, err = s.Stack.Look(ctx, l)
	if err == nil && sp == objects.Project && s.Lock != nil {
		set, _ := extractors(ctx, s) // that Look asked for
		k.Add(space.RowsOf(lockedBeside(s, k.Holds), set))
	}
	return k, err
}

// looks returns what each of the spaces holds, highest first. only is the name of
// one, or "" or "all".
func looks(ctx context.Context, s *session.Session, only string) ([]*space.Look, error) {
	if only != "" && only != "all" {
		if _, err := objects.ParseSpace(only); err != nil {
			return nil, err
		}
	}
	var all []*space.Look
	for sp := objects.Project; sp >= objects.System; sp-- {
		if only != "" && only != "all" && only != sp.String() {
			continue
		}
		if sp != objects.System {
			if _, err := s.Stack.Layer(sp); err != nil {
				continue
			}
		}
		k, err := look(ctx, s, sp)
		if err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	return all, nil
}

// catalogue lists spaces, highest first, each ref once; the zero ref of foreign
// files is left out.
func catalogue(ctx context.Context, s *session.Session, only string) (all []rye.ItemInfo, err error) {
	looks, err := looks(ctx, s, only)
	if err != nil {
		return nil, err
	}
	at := map[objects.Ref]int{}
	for _, k := range looks {
		rows := k.Rows()
		for i, it := range describeAll(rows) {
			ref := rows[i].Ref
			if ref.Kind == "" {
				continue
			}
			if j, ok := at[ref]; !ok {
				at[ref] = len(all)
				all = append(all, it)
			} else if sp := it.Space; all[j].Space != sp && !slices.Contains(all[j].Shadows, sp) {
				all[j].Shadows = append(all[j].Shadows, sp)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b rye.ItemInfo) int { return cmp.Compare(a.Ref, b.Ref) })
	return all, nil
}

// info describes a finding for people and programs.
func info(f space.Finding) rye.ItemInfo {
	r := f.Row(nil)
	return describe(&r)
}

func describe(r *space.Row) rye.ItemInfo {
	i := rye.ItemInfo{
		Kind: string(r.Ref.Kind), ID: string(r.Ref.ID), Space: r.Space.String(), State: r.State, Recorded: r.Recorded,
		Path: r.Path, Locked: r.Registry != "",
		Name: r.Name, Title: r.Title, Version: r.Version, Description: r.Description, Category: r.Category, Tags: r.Tags,
	}
	if r.Ref.Kind != "" {
		i.Ref = r.Ref.String()
	}
	if i.Bundle = string(r.Bundle); r.Manifest {
		i.Ref, i.Kind, i.ID = BundleRef(r.Bundle), "bundle", i.Bundle
	}
	i.Covers = r.Covers
	if r.Why != "" {
		// The list names item and space already.
		i.Why = strings.TrimPrefix(strings.TrimPrefix(r.Why, "verify "+i.Ref+" in the "+i.Space+" space: "), i.Ref+": ")
	}
	for _, t := range r.More {
		if i.Fields == nil {
			i.Fields = make(map[string]string, len(r.More))
		}
		i.Fields[t.Name] = t.Value
	}
	if r.Sum != (objects.Digest{}) {
		i.SHA256 = r.Sum.String()
	}
	if !r.SignedAt.IsZero() {
		i.Signer, i.SignedAt = r.Signer.String(), r.SignedAt.Format(time.RFC3339)
	}
	return i
}

// Targets turns what a person typed into the refs of working files: refs, paths,
// or patterns in which * stands for any text and ? for one character.
func Targets(ctx context.Context, s *session.Session, l *space.Layer, args []rye.Target, all bool) ([]objects.Ref, error) {
	var refs []objects.Ref
	seen := map[objects.Ref]bool{}
	add := func(ref objects.Ref) {
		if !seen[ref] {
			seen[ref] = true
			refs = append(refs, ref)
		}
	}
	if all {
		args = append(args[:len(args):len(args)], "*")
	}
	for _, target := range args {
		arg := string(target)
		if !strings.ContainsAny(arg, "*?") {
			ref, err := s.Ref(arg)
			if err != nil {
				return nil, err
			}
			add(ref)
			continue
		}
		n := len(refs)
		_, err := l.Files(ctx, func(_ string, ref objects.Ref) error {
			if glob(arg, ref.String()) || glob(arg, string(ref.ID)) {
				add(ref)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if len(refs) == n && !all {
			return nil, fault.New(fault.NotFound, "%q matches no item of the %s space", arg, l.Space).Mend("rye list")
		}
	}
	return refs, nil
}

// glob matches s against a pattern in which * spans everything, slashes too.
// It takes time proportional to the product of the lengths at the worst.
func glob(pattern, s string) bool {
	p, i, star, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p, i = p+1, i+1
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

func DraftBy(l *space.Layer, ref objects.Ref, read func(objects.Ref) (*objects.Item, error)) (*objects.Item, error) {
	it, err := read(ref)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "%s: not in the %s space", ref, l.Space).Mend("rye new %s %s", ref.Kind, ref.ID)
	}
	return it, err
}
