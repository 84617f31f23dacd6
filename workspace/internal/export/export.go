package export

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/clients/places"
	"github.com/rye-os/rye/internal/diff"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Export writes, compares, takes back or removes the copies of a space.
func Export(ctx context.Context, s *custody.Desk, q rye.ClientExport) (*rye.ClientExported, error) {
	x, err := open(ctx, s, q)
	if err != nil {
		return nil, err
	}
	if q.Check {
		return x.rep, x.check(ctx)
	}
	if q.Take {
		return x.rep, x.take(ctx)
	}
	unlock, err := x.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return x.rep, cmp.Or(x.renew(ctx), x.plan.denied())
}

// exporting is one export at work.
type exporting struct {
	*custody.Desk
	q      rye.ClientExport
	layer  *space.Layer
	disk   disk
	record string // the directory of the user's record; "" where there is none
	memory *memory
	plan   *plan
	rep    *rye.ClientExported

	formers map[objects.Ref]map[string]map[objects.Digest]bool
}

func open(ctx context.Context, s *custody.Desk, q rye.ClientExport) (*exporting, error) {
	x := &exporting{Desk: s, q: q, rep: &rye.ClientExported{Copies: []rye.ClientCopy{}, DryRun: q.DryRun}, formers: map[objects.Ref]map[string]map[objects.Digest]bool{}}
	var err error
	if x.layer, err = session.LayerOf(s.Session, q.Space); err != nil {
		return nil, err
	}
	o := options{confined: q.Confined, link: q.Link, user: x.layer.Space == objects.User}
	if o.user {
		if x.disk.dir = s.Host.Home; x.disk.dir == "" {
			return nil, fault.New(fault.NotFound, "export: no home directory is known").Advise("set HOME")
		}
	} else {
		x.disk.dir = s.Host.ProjectDir
	}
	if x.layer.Store != "" {
		x.record = filepath.Dir(x.layer.Store)
	}
	if x.memory, err = readMemory(x.record); err != nil {
		return nil, err
	}
	clients, err := x.clients()
	if err != nil {
		return nil, err
	}
	sources, out, err := sourcesOf(ctx, s.Session, x.layer.Space, q.Targets, q.Check || q.DryRun)
	if err != nil {
		return nil, err
	}
	if x.plan, err = planFor(clients, sources, out, o); err != nil {
		return nil, err
	}
	if err := x.hook(o); err != nil {
		return nil, err
	}
	if o.user {
		x.below()
	}
	x.plan.attributes(x.kept())
	for _, l := range x.plan.left {
		x.rep.Left = append(x.rep.Left, rye.ClientLeft{Ref: l.ref, Why: l.why})
	}
	return x, nil
}

// clients returns the clients of an export: the named ones and those that a person agreed to
// earlier; without any, those that rye.yaml proposes. Named ones are taken away by --remove.
func (x *exporting) clients() (all []places.Client, err error) {
	var named []string
	for _, n := range x.q.To {
		if _, err := places.Find(n); err != nil {
			return nil, err
		}
		named = append(named, n)
	}
	wanted := map[string]bool{}
	if !x.q.Check || len(named) == 0 {
		maps.Copy(wanted, x.memory.clients)
	}
	for _, n := range named {
		wanted[n] = !x.q.Remove
	}
	if len(wanted) == 0 && x.Project != nil && x.layer.Space == objects.Project {
		for _, n := range x.Project.Exports {
			wanted[n] = true
		}
	}
	for _, n := range slices.Sorted(maps.Keys(wanted)) {
		if !wanted[n] {
			continue
		}
		c, err := places.Find(n)
		if err != nil {
			return nil, fault.Wrap(err, "exports")
		}
		all = append(all, c)
		x.rep.Clients = append(x.rep.Clients, n)
	}
	if len(wanted) == 0 {
		return nil, fault.New(fault.Usage, "export: for which client? None was named, and nothing was exported here yet").Advise("rye export --to %s; rye export --clients lists them", places.All()[3].Name)
	}
	return all, nil
}

// below rewrites the directories of the user to paths below the home directory. A configuration
// directory elsewhere is left out.
func (x *exporting) below() {
	config := ".config"
	if filepath.Base(x.ConfigDir) == "rye" {
		rel, err := filepath.Rel(x.disk.dir, filepath.Dir(x.ConfigDir))
		if err != nil || !filepath.IsLocal(rel) {
			rel = ""
		}
		config = filepath.ToSlash(rel)
	}
	move := func(p string) string {
		base, rest := places.Base(p)
		if base == "@xdg" {
			return config + "/" + rest
		}
		return rest
	}
	copies := x.plan.copies[:0]
	for _, c := range x.plan.copies {
		if base, _ := places.Base(c.path); base == "@xdg" && config == "" {
			x.plan.left = append(x.plan.left, left{ref: c.ref.String(), why: "XDG_CONFIG_HOME is not below the home directory"})
			continue
		}
		c.path, c.folder = move(c.path), move(c.folder)
		copies = append(copies, c)
	}
	x.plan.copies = copies
}

func (x *exporting) lock(ctx context.Context) (func(), error) {
	if x.q.DryRun || x.record == "" {
		return func() {}, nil
	}
	if err := x.layer.Create(); err != nil {
		return nil, err
	}
	unlock, err := place.Lock(ctx, filepath.Join(x.record, memoryName+".held"))
	if err != nil {
		return nil, err
	}
	if x.memory, err = readMemory(x.record); err != nil { // another export may have written it
		unlock()
		return nil, err
	}
	return unlock, nil
}

// group is everything in one folder of a client, or one file of its own.
type group struct {
	rye.ClientCopy
	copies  []copyOf
	stale   []string // paths that rye wrote and that are no longer wanted
	refused error    // why a place cannot be read or written: a link, a directory, a size
}

// compare compares the disk with the plan, folder by folder.
func (x *exporting) compare(ctx context.Context) (all []*group, err error) {
	byFolder := map[string]*group{}
	for _, c := range x.plan.copies {
		g := byFolder[c.folder]
		if g == nil {
			g = &group{ClientCopy: rye.ClientCopy{Path: c.folder, State: "unchanged"}}
			if c.ref != (objects.Ref{}) {
				g.Ref = c.ref.String()
			}
			byFolder[c.folder] = g
			all = append(all, g)
		}
		g.copies = append(g.copies, c)
		g.Files++
		if err := x.compareFile(ctx, g, &c); err != nil {
			return nil, err
		}
	}
	for _, g := range all {
		if err := x.extra(g); err != nil {
			return nil, err
		}
	}
	all = slices.DeleteFunc(all, x.hasOtherAttributes)
	return append(all, x.leftOver(byFolder)...), nil
}

// compareFile compares one planned file with the disk.
func (x *exporting) compareFile(ctx context.Context, g *group, c *copyOf) error {
	is, err := x.disk.read(c.path)
	if err != nil {
		if fault.Is(err, fault.Malformed) || fault.Is(err, fault.Limit) {
			g.Changed, g.refused = append(g.Changed, c.path), cmp.Or(g.refused, err)
			return nil
		}
		return err
	}
	was, known := x.memory.files[c.path]
	switch {
	case is.none:
		g.Missing = append(g.Missing, c.path)
	case c.link != "":
		switch {
		case is.link == c.link:
		case known && was.link != "" && is.link == was.link:
			g.Behind = append(g.Behind, c.path)
		default:
			g.Changed = append(g.Changed, c.path)
		}
	case is.link != "":
		if known && was.link == is.link {
			g.Behind = append(g.Behind, c.path)
		} else {
			g.Changed = append(g.Changed, c.path)
		}
	case bytes.Equal(is.data, c.data):
	case sameText(is.data, c.data):
		g.Endings = append(g.Endings, c.path)
	default:
		mine, err := x.ours(ctx, c, is.data)
		if err != nil {
			return err
		}
		if mine {
			g.Behind = append(g.Behind, c.path)
			return nil
		}
		g.Changed = append(g.Changed, c.path)
		g.Diff = append(g.Diff, textDiff(c.path, c.data, is.data)...)
	}
	return nil
}

// hasOtherAttributes reports whether a file of attributes belongs to somebody else. It stays as it
// is, and the copies beside it are no worse without rye's lines where git converts nothing.
func (x *exporting) hasOtherAttributes(g *group) bool {
	if path.Base(g.Path) != attributesName || len(g.copies) != 1 || g.copies[0].ref != (objects.Ref{}) || len(g.Changed) == 0 || g.refused != nil {
		return false
	}
	x.rep.Left = append(x.rep.Left, rye.ClientLeft{Ref: g.Path, Why: "it has lines of others; for checkouts on Windows add: " + strings.ReplaceAll(strings.TrimSpace(string(g.copies[0].data)), "\n", "; ")})
	return true
}

// sameText reports whether git alone changed a text: LF became CR LF on the way to the disk. git's
// blob is the same then.
func sameText(is, want []byte) bool {
	return !bytes.Contains(want, []byte("\r")) && bytes.Equal(bytes.ReplaceAll(is, []byte("\r\n"), []byte("\n")), want)
}

// ours reports whether rye may replace bytes: it wrote them here, or they are an export of an
// earlier version that verifies.
func (x *exporting) ours(ctx context.Context, c *copyOf, data []byte) (bool, error) {
	sums := []objects.Digest{objects.DigestOf(data), objects.DigestOf(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))}
	if was, ok := x.memory.files[c.path]; ok && was.link == "" && slices.Contains(sums, was.sum) {
		return true, nil
	}
	if c.from == "" {
		return false, nil
	}
	old, ok := x.formers[c.ref]
	if !ok {
		i := slices.IndexFunc(x.plan.sources, func(src source) bool { return src.ref == c.ref })
		var err error
		if old, err = former(ctx, x.Session, x.layer, &x.plan.sources[i]); err != nil {
			return false, err
		}
		x.formers[c.ref] = old
	}
	return old[c.from][sums[0]] || old[c.from][sums[1]], nil
}

// maxDiff bounds the lines of one file's difference in a report.
const maxDiff = 200

func textDiff(name string, want, is []byte) []string {
	if bytes.IndexByte(want, 0) >= 0 || bytes.IndexByte(is, 0) >= 0 {
		return []string{"--- " + name, fmt.Sprintf("%d bytes, the item has %d", len(is), len(want))}
	}
	lines := diff.Lines(string(want), string(is))
	if len(lines) > maxDiff {
		lines = append(lines[:maxDiff:maxDiff], "… and "+words.Plural(len(lines)-maxDiff, "more line"))
	}
	return append([]string{"--- " + name}, lines...)
}

// extra notes the files in the folder of a copy that the item does not have.
func (x *exporting) extra(g *group) error {
	if len(g.copies) == 1 && g.copies[0].path == g.Path {
		return nil // one file, or a link
	}
	names, err := x.disk.files(g.Path)
	if err != nil {
		return nil // compareFile reported it
	}
	wanted := map[string]bool{}
	for _, c := range g.copies {
		wanted[c.path] = true
	}
	for _, n := range names {
		p := g.Path + "/" + n
		if wanted[p] {
			continue
		}
		if x.isOurs(p) {
			g.stale = append(g.stale, p)
			g.Behind = append(g.Behind, p)
			continue
		}
		g.Extra = append(g.Extra, p)
	}
	return nil
}

// isOurs reports whether a path still holds what rye wrote there.
func (x *exporting) isOurs(p string) bool {
	was, ok := x.memory.files[p]
	if !ok {
		return false
	}
	is, err := x.disk.read(p)
	if err != nil || is.none {
		return false
	}
	if was.link != "" || is.link != "" {
		return was.link == is.link
	}
	return objects.DigestOf(is.data) == was.sum || objects.DigestOf(bytes.ReplaceAll(is.data, []byte("\r\n"), []byte("\n"))) == was.sum
}

// leftOver returns what rye wrote for items or clients that are gone. A request for some items
// leaves the others alone.
func (x *exporting) leftOver(planned map[string]*group) (all []*group) {
	wanted := map[string]bool{}
	for _, c := range x.plan.copies {
		wanted[c.path] = true
	}
	byRef := map[string]*group{}
	for _, p := range slices.Sorted(maps.Keys(x.memory.files)) {
		w := x.memory.files[p]
		folder, _, _ := cutLast(p)
		if wanted[p] || inside(planned, p) || len(x.q.Targets) > 0 || x.q.Check && len(x.q.To) > 0 {
			continue
		}
		is, err := x.disk.read(p)
		if err == nil && is.none {
			continue
		}
		g := byRef[w.ref+"\t"+folder]
		if g == nil {
			g = &group{ClientCopy: rye.ClientCopy{Ref: strings.TrimPrefix(w.ref, "-"), Path: folder, State: x.fate(w.ref)}}
			byRef[w.ref+"\t"+folder] = g
			all = append(all, g)
		}
		g.Files++
		if x.isOurs(p) {
			g.stale = append(g.stale, p)
		} else {
			g.Changed = append(g.Changed, p)
		}
	}
	return all
}

// kept returns the folders of skills that rye wrote and that this request leaves alone.
func (x *exporting) kept() (folders []string) {
	for p, w := range x.memory.files {
		folder, ok := strings.CutSuffix(p, "/"+objects.SkillFile)
		if !ok || slices.ContainsFunc(x.plan.copies, func(c copyOf) bool { return c.folder == folder }) {
			continue
		}
		if len(x.q.Targets) > 0 || x.fate(w.ref) == "unverified" {
			folders = append(folders, folder)
		}
	}
	return folders
}

// fate returns the state of copies that no longer belong to the plan. The copies of a bundle that is
// here and does not verify stay until it verifies again, for it may only be edited. Those of a
// revoked one go.
func (x *exporting) fate(ref string) string {
	for _, l := range x.plan.left {
		if l.ref == ref && l.code != "" && l.code != fault.Revoked {
			return "unverified"
		}
	}
	return "left over"
}

func inside(planned map[string]*group, p string) bool {
	for dir := p; ; {
		up, _, ok := cutLast(dir)
		if !ok {
			return false
		}
		if planned[up] != nil {
			return true
		}
		dir = up
	}
}

// check compares and writes nothing.
func (x *exporting) check(ctx context.Context) error {
	all, err := x.compare(ctx)
	if err != nil {
		return err
	}
	bad := 0
	for _, g := range all {
		switch {
		case g.State == "left over", g.State == "unverified":
		case len(g.Changed) > 0:
			g.State = "changed"
		case len(g.Missing) > 0:
			g.State = "missing"
		case len(g.Behind) > 0:
			g.State = "behind"
		case len(g.Extra) > 0:
			g.State = "extra"
		}
		if !g.Fits() {
			bad++
		}
		x.rep.Copies = append(x.rep.Copies, g.ClientCopy)
	}
	if bad == 0 {
		return nil
	}
	return fault.New(fault.Drift, "export: %d of %s differ from the items", bad, copies(len(all))).
		Advise("to write them again: rye export; to bring edits into the items: rye export --take")
}

// renew writes what is missing or behind, and removes what is left over.
func (x *exporting) renew(ctx context.Context) error {
	all, err := x.compare(ctx)
	if err != nil {
		return err
	}
	if err := x.agree(ctx, all); err != nil {
		return err
	}
	if x.q.Remove { // nobody was asked about copies that stay
		all = slices.DeleteFunc(all, func(g *group) bool { return g.Ref != "" && g.State != "left over" })
	}
	if err := x.announce(); err != nil {
		return err
	}
	var first error
	for _, g := range all {
		first = cmp.Or(first, x.renewOne(g))
		x.rep.Copies = append(x.rep.Copies, g.ClientCopy)
	}
	if x.q.DryRun {
		return first
	}
	x.remember(all)
	return cmp.Or(x.memory.write(x.record), first)
}

// announce notes the clients before the first file of theirs: the check after a run of a tool
// then knows whose files these are.
func (x *exporting) announce() error {
	known := true
	for _, c := range x.plan.clients {
		known = known && x.memory.clients[c.Name]
	}
	if x.q.DryRun || x.q.Remove || known {
		return nil
	}
	for _, c := range x.plan.clients {
		x.memory.clients[c.Name] = true
	}
	return x.memory.write(x.record)
}

func (x *exporting) renewOne(g *group) error {
	if g.State == "unverified" {
		return nil // the report has the reason
	}
	if len(g.Changed) > 0 && g.State != "left over" {
		g.State = "changed"
		if g.refused != nil {
			return fault.Wrap(g.refused, "export %s", g.Path)
		}
		return fault.New(fault.Conflict, "export %s: %s was changed, and not by rye", g.Path, g.Changed[0]).
			Advise("to bring the change into the item: rye export --take; otherwise remove the file first")
	}
	dirty := len(g.Missing)+len(g.Behind)+len(g.Endings) > 0
	for _, p := range g.stale {
		if x.q.DryRun {
			continue
		}
		if err := x.disk.remove(p, keptRoot(p)); err != nil {
			return err
		}
		delete(x.memory.files, p)
	}
	if g.State == "left over" {
		if len(g.Changed) > 0 {
			return fault.New(fault.Conflict, "export: %s is of an item that is no longer exported, and was changed, not by rye", g.Changed[0]).Advise("remove the file if you do not want it")
		}
		g.State = "removed"
		return nil
	}
	if !dirty {
		return nil
	}
	g.State = "written"
	if x.q.DryRun {
		return nil
	}
	for _, c := range g.copies {
		if err := x.put(&c); err != nil {
			return fault.Wrap(err, "export %s", c.path)
		}
	}
	return nil
}

// put writes one copy where the disk has another one.
func (x *exporting) put(c *copyOf) error {
	is, err := x.disk.read(c.path)
	if err != nil {
		return err
	}
	switch {
	case c.link != "" && is.link == c.link, c.link == "" && !is.none && is.link == "" && is.exec == c.exec && bytes.Equal(is.data, c.data):
		return nil
	case c.link != "":
		return x.disk.link(c.path, c.link)
	}
	return x.disk.write(c.path, c.data, c.exec)
}

// keptRoot is the client's own directory, which stays when it becomes empty.
func keptRoot(p string) string {
	top, _, _ := strings.Cut(p, "/")
	return top
}

// remember notes what is written now.
func (x *exporting) remember(all []*group) {
	if x.q.Remove {
		for _, n := range x.q.To {
			delete(x.memory.clients, n)
		}
		if x.q.Hook {
			delete(x.memory.agreed, sessionHook)
		}
	} else if x.plan.hooked() {
		x.memory.agreed[sessionHook] = hookSum()
	}
	for _, c := range x.plan.clients {
		x.memory.clients[c.Name] = true
	}
	for _, g := range all {
		if g.State != "written" && g.State != "unchanged" {
			continue
		}
		for _, c := range g.copies {
			ref := "-"
			if c.ref != (objects.Ref{}) {
				ref = c.ref.String()
			}
			w := written{ref: ref, link: c.link}
			if c.link == "" {
				w.sum = objects.DigestOf(c.data)
			}
			x.memory.files[c.path] = w
		}
	}
	for i := range x.plan.sources {
		if src := &x.plan.sources[i]; !x.q.Remove && src.gist != (objects.Digest{}) {
			x.memory.agreed[src.ref.String()] = src.gist
		}
	}
}
