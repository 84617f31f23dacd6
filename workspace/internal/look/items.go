package look

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/parallel"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/extract"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Status reports every item of the project with its state, sorted by ref. Files that have
// not changed since they were last verified are answered from the catalogue in the cache
// directory; nothing else is written.
func Status(ctx context.Context, s *session.Session) (items []rye.ItemInfo, err error) {
	k, err := Space(ctx, s, objects.Project)
	if err != nil {
		return nil, err
	}
	rows := k.Rows()
	for i := range rows {
		drift(s, &rows[i])
	}
	items = describeTwins(rows)
	warnAll(s, items)
	return items, tellDue(ctx, s, k)
}

// tellDue reports matters that need someone's attention.
func tellDue(ctx context.Context, s *session.Session, k *space.Look) error {
	return cmp.Or(tellUnfinished(s), session.TellForks(s), session.TellSkipped(s), reportTaken(ctx, s), tellElsewhere(s, k))
}

// tellElsewhere reports items whose bytes were revoked in another place.
func tellElsewhere(s *session.Session, k *space.Look) error {
	all, err := RevokedElsewhere(s, func(yield func(space.Row) bool) {
		for i := range k.Len() {
			if !yield(k.Row(i)) {
				return
			}
		}
	})
	for _, e := range all {
		s.Tell(e.String() + "; " + ElsewhereHint(e).String())
	}
	return err
}

// RevokedElsewhere returns the project's items with bytes that a registry revoked in a place
// that does not reach them.
func RevokedElsewhere(s *session.Session, rows iter.Seq[space.Row]) ([]trust.Elsewhere, error) {
	own := s.Stack.Scope(s.Stack.Project)
	return s.Trust.RevokedElsewhere(func(yield func(trust.Use) bool) {
		for r := range rows {
			if r.Ref.Kind == "" || r.Sum.IsZero() {
				continue
			}
			in := own
			in.Registry = r.Registry
			if !yield(trust.Use{Ref: r.Ref, Sum: r.Sum, In: in}) {
				return
			}
		}
	})
}

// ElsewhereHint is the advice for such an item.
func ElsewhereHint(e trust.Elsewhere) fault.Hint {
	return fault.Advice("this does not affect it: review it with rye show %s; rye rm %[1]s removes it", e.Ref)
}

// tellUnfinished reports changes that a killed process left, or that another process is making
// now. Files and record are judged by the state before these changes.
func tellUnfinished(s *session.Session) error {
	for _, l := range []*space.Layer{s.Stack.Project, s.Stack.User} {
		if l == nil {
			continue
		}
		what, err := l.Unfinished()
		if err != nil {
			return err
		}
		if what != "" {
			s.Tell("interrupted: " + what + "; the next command that changes items finishes it, such as rye sign --all" + session.SpaceFlag(l))
		}
	}
	return nil
}

// reportTaken tells the user about denials without effect here, with the reasons.
func reportTaken(ctx context.Context, s *session.Session) error {
	all, err := s.ReportTaken(ctx)
	for _, n := range all {
		s.Tell(n.Text)
	}
	return err
}

// Survey counts the items of the project by state, and returns, sorted by ref, the items that
// need attention or have something to report. It only counts items that are signed, recorded
// and the only ones with their ref. So a clean project of ten thousand items takes as long as
// git status takes there. Otherwise it is Status.
func Survey(ctx context.Context, s *session.Session) (sum *rye.Survey, err error) {
	k, err := Space(ctx, s, objects.Project)
	if err != nil {
		return nil, err
	}
	sum = &rye.Survey{Count: map[rye.State]int{}, OldRecord: session.OldRecord(s.Host), Ignored: s.AgainstNotes(), Staged: Staged(s, s.Stack.Project)}
	var rest []space.Row
	own := ownPins(s, k)
	for i := range k.Len() {
		clean := k.Clean(i)
		if clean && !own[i] {
			sum.Count[objects.Signed]++
			continue
		}
		row := k.Row(i)
		switch {
		case drift(s, &row), !clean && !elsewhere(s, row):
			sum.Count[row.State]++
			rest = append(rest, row)
		case clean:
			sum.Count[objects.Signed]++
		}
	}
	sum.Items = describeTwins(rest)
	sum.Accepted = s.Trust.Accepted(s.Site())
	sum.Next = nextOf(sum)
	warnAll(s, sum.Items)
	sum.Outdated, sum.Warned = outdated(s)
	return sum, tellDue(ctx, s, k)
}

// nextOf returns the command that comes first: in a directory that the user has not accepted it is
// rye trust, and else the one that every item needs.
func nextOf(sum *rye.Survey) fault.Hint {
	reserved := func(it rye.ItemInfo) bool {
		ref, err := objects.ParseRef(it.Ref)
		return err != nil || trust.Reserved(ref.ID.Namespace())
	}
	switch n := len(sum.Items); {
	case n == 0:
	case sum.Count[objects.Untrusted] > 0 && !sum.Accepted:
		return fault.Command("rye trust")
	case sum.Count[objects.Unsigned] == n && !slices.ContainsFunc(sum.Items, reserved):
		return fault.Command("rye sign --all")
	}
	return fault.Hint{}
}

// elsewhere reports whether an item is absent because it belongs to another branch: the user's
// git has nothing there either.
func elsewhere(s *session.Session, r space.Row) bool {
	return r.State == objects.Absent && r.Space == objects.Project && lacks(s, r.Path)
}

// lacks reports whether the user's git is known to have nothing at a path below .ai.
func lacks(s *session.Session, p string) bool {
	lacks, err := s.Stack.Lacks(p)
	return err == nil && lacks
}

// here leaves out items that elsewhere reports.
func here(s *session.Session, found []space.Finding) []space.Finding {
	return slices.DeleteFunc(found, func(f space.Finding) bool {
		return f.State == objects.Absent && f.Space == objects.Project && f.Item == nil && lacks(s, f.Path)
	})
}

// describeTwins is describeAll for rows sorted by ref, and reports two files for one item.
func describeTwins(rows []space.Row) []rye.ItemInfo {
	all := describeAll(rows)
	for i := range rows {
		if twin := twinOf(rows, i); twin != "" {
			all[i].Why = strings.TrimPrefix(all[i].Why+"; "+twin+" is the same item: keep one of them", "; ")
		}
	}
	return all
}

// describeAll is Describe for many, on every processor: most of the time goes into digests.
func describeAll(rows []space.Row) []rye.ItemInfo {
	all := make([]rye.ItemInfo, len(rows))
	_ = parallel.Chunks(context.Background(), len(rows), 1024, func(i int) error { // short, and returns no error
		all[i] = Describe(rows[i])
		return nil
	})
	return all
}

// twinOf returns the path of another file for the ref of row i, in rows sorted by ref. A tool
// beside them may load both; neither can be used by its ref.
func twinOf(rows []space.Row, i int) string {
	for _, j := range [...]int{i - 1, i + 1} {
		if j >= 0 && j < len(rows) && rows[j].Ref == rows[i].Ref && rows[i].Ref.Kind != "" &&
			rows[j].State != objects.Absent && rows[i].State != objects.Absent {
			return rows[j].Path
		}
	}
	return ""
}

// List reports items, each ref once with the spaces that it shadows: first the project's items,
// then the user's, then the system's.
func List(ctx context.Context, s *session.Session, q rye.ListRequest) (all []rye.ItemInfo, err error) {
	if q.Kind != "" {
		if _, err := objects.ParseKind(q.Kind); err != nil {
			return nil, err
		}
	}
	if _, err := extractors(ctx, s); err != nil {
		return nil, err // the fields from the extractors would be missing
	}
	looks, err := looks(ctx, s, q.Space)
	if err != nil {
		return nil, err
	}
	at := map[objects.Ref]int{}
	for _, k := range looks {
		rows := k.Rows()
		described := describeAll(rows)
		warnAll(s, described)
		for i, it := range described {
			ref := rows[i].Ref
			if ref.Kind == "" || elsewhere(s, rows[i]) {
				continue // a name that is no item, or an item of another branch
			}
			if j, ok := at[ref]; !ok {
				at[ref] = len(all)
				all = append(all, it)
			} else if sp := it.Space; all[j].Space != sp && !slices.Contains(all[j].Shadows, sp) {
				all[j].Shadows = append(all[j].Shadows, sp)
			}
		}
	}
	rank := map[string]int{objects.System.String(): 2, objects.User.String(): 1}
	slices.SortStableFunc(all, func(a, b rye.ItemInfo) int {
		return cmp.Or(cmp.Compare(rank[a.Space], rank[b.Space]), cmp.Compare(a.Ref, b.Ref))
	})
	return slices.DeleteFunc(all, func(it rye.ItemInfo) bool { return q.Kind != "" && it.Kind != q.Kind }), nil
}

// Show describes one item: the one that would be used, or with All every space's.
func Show(ctx context.Context, s *session.Session, q rye.ShowRequest) ([]rye.ItemInfo, error) {
	set, err := extractors(ctx, s)
	if _, is := extract.KindOf(q.Ref); err != nil && !is {
		return nil, err
	}
	var shown []rye.ItemInfo
	for f, err := range candidates(ctx, s, q.Ref) {
		if err != nil {
			return nil, err
		}
		if len(shown) > 0 {
			shown[0].Shadows = append(shown[0].Shadows, f.Space.String())
		}
		if len(shown) == 0 || q.All {
			i := Describe(f.Row(set))
			describeOrigin(s, &i, f)
			warn(s, &i, f.Registry)
			if f.Item != nil {
				Declared(&i, f.Item)
				i.Programs = programsBeside(ctx, s, f)
			}
			shown = append(shown, i)
		}
	}
	return shown, nil
}

// Parameters lists an item's parameters: a directive's inputs, or the properties of a tool's
// schema.
func Parameters(it *objects.Item) []rye.ParamInfo {
	var all []rye.ParamInfo
	for _, in := range it.Meta.Inputs {
		all = append(all, rye.ParamInfo{Name: in.Name, Type: in.Takes(), Required: in.Required, Default: in.Default, Description: in.Description})
	}
	return append(all, properties(it.Meta.Schema, 2)...)
}

// properties lists the properties of an object's schema, with nested ones down to a depth.
func properties(schema map[string]any, depth int) (all []rye.ParamInfo) {
	props, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(props)) {
		p := rye.ParamInfo{Name: name, Required: slices.Contains(required, any(name))}
		if m, ok := props[name].(map[string]any); ok {
			describeParam(&p, m, depth)
		}
		all = append(all, p)
	}
	return all
}

// describeParam copies the schema of a parameter.
func describeParam(p *rye.ParamInfo, m map[string]any, depth int) {
	p.Type, _ = m["type"].(string)
	p.Description, _ = m["description"].(string)
	values, _ := m["enum"].([]any)
	for _, v := range values {
		p.Values = append(p.Values, InputText(v))
	}
	if d, ok := m["default"]; ok {
		p.Default = InputText(d)
	}
	if items, ok := m["items"].(map[string]any); ok {
		m = items
	}
	if depth > 1 {
		p.Fields = properties(m, depth-1)
	}
}

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

// Describe describes a row for people and programs.
func Describe(r space.Row) rye.ItemInfo {
	i := rye.ItemInfo{
		Kind: string(r.Ref.Kind), ID: string(r.Ref.ID), Space: r.Space.String(), State: r.State, Recorded: r.Recorded,
		Path: r.Path, Locked: r.Registry != "", Covers: r.Covers,
		Name: r.Name, Title: r.Title, Version: r.Version, Description: r.Description, Category: r.Category, Tags: r.Tags,
	}
	if r.Ref.Kind != "" {
		i.Ref = r.Ref.String()
	}
	if i.Bundle = string(r.Bundle); r.Manifest {
		i.Ref, i.Kind, i.ID = BundleRef(r.Bundle), "bundle", i.Bundle
	}
	if r.State == objects.Patched && r.Why == "" {
		i.Why = "no owner of " + r.Ref.ID.Namespace() + "/ signed this change; an owner does with rye review"
		if r.Manifest {
			i.Why = "no owner of " + r.Bundle.Namespace() + "/ signed this change; an owner does with rye review"
		}
	}
	if r.Why != "" {
		// The list names item and space already.
		i.Why = strings.TrimPrefix(strings.TrimPrefix(r.Why, "verify "+i.Ref+" in the "+i.Space+" space: "), i.Ref+": ")
	}
	for _, t := range r.More {
		if t.Name == "examples" {
			i.Examples = strings.Split(t.Value, "\n")
			continue
		}
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
