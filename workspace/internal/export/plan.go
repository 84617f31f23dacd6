package export

import (
	"bytes"
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/clients/places"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/program"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/session"
)

// source is a verified bundle whose parts are exported.
type source struct {
	ref     objects.Ref // bundle:acme/pdf
	dir     string      // below .ai; "" for a bundle that the lock pins
	bundle  trust.Bundle
	skill   string // the name of the skill; "" for a bundle without SKILL.md
	about   string // the skill's description
	license string // the skill's license, "" for none stated
	parts   []part // commands, agents and rules, in the client's form

	programs []string // what a client could start: "scripts/tide.py (script)"
	acts     []string // what a client starts by itself: "SKILL.md: allowed-tools: Bash(*)"
	gist     objects.Digest
}

// part is a file that came in a client's form.
type part struct {
	kind string // "commands", "agents" or "rules"
	file objects.File
	text places.Text
}

// copyOf is a file of a client as rye would write it.
type copyOf struct {
	path   string // slash path below the disk
	ref    objects.Ref
	from   string // path of the file in the bundle; "" for a text that rye made
	data   []byte
	exec   bool
	link   string // instead of data: the target of a link
	folder string // the directory of the whole copy, or of the client for a single file
}

// left is a part that is not exported.
type left struct {
	ref, why string
	code     fault.Code // of a bundle that does not verify
}

// plan is what an export should be.
type plan struct {
	clients []places.Client
	sources []source
	copies  []copyOf
	left    []left
}

// sourcesOf returns the verified bundles of a space that hold skills, commands, agents or rules:
// all, or the ones that the targets name. A bundle that does not verify is left out, by name.
func sourcesOf(ctx context.Context, s *session.Session, sp objects.Space, targets []rye.Target, rehearsal bool) (all []source, out []left, err error) {
	found, err := look.Scan(ctx, s, sp, nil)
	if err != nil {
		return nil, nil, err
	}
	d, err := demands(ctx, s, rehearsal)
	if err != nil {
		return nil, nil, err
	}
	matched := make([]bool, len(targets))
	wanted := func(ref objects.Ref) bool {
		ok := len(targets) == 0
		for i, t := range targets {
			if names(string(t), ref) {
				ok, matched[i] = true, true
			}
		}
		return ok
	}
	add := func(ref objects.Ref, dir, registry string, b trust.Bundle, refused error) error {
		if !wanted(ref) {
			return nil
		}
		if refused == nil {
			refused = s.AdmitBundle(d, ref, b, registry)
		}
		if refused != nil {
			out = append(out, left{ref.String(), refused.Error(), fault.CodeOf(refused)})
			return nil
		}
		src, err := sourceOf(ref, dir, b)
		if err != nil {
			out = append(out, left{ref.String(), err.Error(), fault.CodeOf(err)})
			return nil
		}
		if src.skill != "" || len(src.parts) > 0 {
			all = append(all, src)
		} else if len(targets) > 0 {
			out = append(out, left{ref: ref.String(), why: "it holds no skill, command, agent or rule"})
		}
		return nil
	}
	for _, f := range found {
		if !f.Manifest || f.Cover == nil {
			continue
		}
		if _, in := objects.InBundles(f.Cover.Dir + "/x"); !in {
			continue
		}
		id, err := objects.BundleID(f.Cover.Dir)
		if err != nil {
			continue
		}
		if err := add(objects.BundleRef(id), f.Cover.Dir, "", f.Cover.Bundle, cmp.Or(f.Err, f.Cover.Err)); err != nil {
			return nil, nil, err
		}
	}
	if sp == objects.Project && s.Lock != nil {
		for _, ref := range session.LockedRefs(s) {
			if p := s.Stack.LockedPackage(ref); p != nil {
				if err := add(ref, "", s.RegistryOf(ref), p.Bundle, p.Err); err != nil {
					return nil, nil, err
				}
			}
		}
	}
	for i, t := range targets {
		if !matched[i] {
			return nil, nil, fault.New(fault.NotFound, "export %s: no bundle of that name here", words.Quote(words.Brief(string(t)))).Advise("rye list bundle")
		}
	}
	slices.SortFunc(all, func(a, b source) int { return cmp.Compare(a.ref.String(), b.ref.String()) })
	return all, out, nil
}

// names reports whether a target names a bundle: by its ref, the ref of its entry, its id or a
// pattern.
func names(target string, ref objects.Ref) bool {
	if kind, id, ok := strings.Cut(target, ":"); ok {
		if k, err := objects.ParseKind(kind); err != nil || k != objects.Bundle && k != objects.Knowledge {
			return false
		}
		target = id
	}
	target = strings.TrimPrefix(strings.TrimSuffix(target, "/"), ".ai/"+objects.BundlesDir+"/")
	ok, err := path.Match(target, string(ref.ID))
	return err == nil && ok || target == string(objects.ID(strings.Replace(string(ref.ID), "/", "/bundle/", 1)))
}

// sourceOf reads a bundle: every byte is compared with the manifest before it is looked at.
func sourceOf(ref objects.Ref, dir string, b trust.Bundle) (source, error) {
	src := source{ref: ref, dir: dir, bundle: b}
	var danger []string
	err := b.Read(func(f objects.File, data []byte) error {
		if kind := program.Of(f.Path, data, f.Executable); kind != "" {
			src.programs = append(src.programs, f.Path+" ("+string(kind)+")")
			danger = append(danger, f.Path+" "+f.Sum.Hex())
		}
		if f.Path == objects.SkillFile {
			it, err := objects.Parse(ref.PackageDir()+"/"+f.Path, data)
			if err != nil {
				return err
			}
			src.skill, src.about = cmp.Or(it.Meta.Title, ref.ID.Name()), it.Meta.Description
			src.license, _ = it.Meta.Fields["license"].(string)
			src.acts = append(src.acts, actsOf(f.Path, it.Meta.Fields, string(data))...)
		}
		if p, ok := partOf(f, data); ok {
			src.parts = append(src.parts, p)
			src.acts = append(src.acts, actsOf(f.Path, p.fields(), p.text.Body)...)
		}
		return nil
	})
	if err != nil {
		return source{}, err
	}
	if acts := pluginActs(b.Files()); src.skill != "" && len(acts) > 0 {
		src.acts = append(src.acts, acts...)
		for _, f := range b.Files() { // its manifest may name any of them
			danger = append(danger, f.Path+" "+f.Sum.Hex())
		}
	}
	if len(danger)+len(src.acts) > 0 {
		src.gist = objects.DigestOf([]byte(strings.Join(append(danger, src.acts...), "\n")))
	}
	return src, nil
}

// planFor plans the copies of sources for clients. Directories that several clients read are
// written once.
func planFor(clients []places.Client, sources []source, out []left, o options) (*plan, error) {
	p := &plan{clients: clients, sources: sources, left: out}
	taken := map[string]objects.Ref{} // folder of a copy to the bundle that it is of
	for i := range sources {
		src := &sources[i]
		if src.skill != "" {
			if err := p.skill(src, taken, o); err != nil {
				return nil, err
			}
		}
		for _, part := range src.parts {
			p.part(src, part, taken, o)
		}
		if src.skill == "" {
			p.unwritten(src)
		}
	}
	return p, nil
}

// options are the parts of a request that change what is written.
type options struct {
	user     bool
	confined bool
	link     bool
}

func (o options) skills(c places.Client) string {
	if o.user {
		return c.UserSkills
	}
	return c.Skills
}

func (o options) commands(c places.Client) places.Dir {
	if o.user {
		return c.UserCommands
	}
	return c.Commands
}

// skill plans the copies of one skill. Its folder has the name that its front matter states,
// which every client compares; a second skill of that name gets the name of its bundle.
func (p *plan) skill(src *source, taken map[string]objects.Ref, o options) error {
	name := src.skill
	if !places.ValidSkill(name) {
		name = places.SkillName(strings.ReplaceAll(src.ref.ID.Name(), "_", "-"))
	}
	reserved := slices.ContainsFunc(p.clients, func(c places.Client) bool { return c.Reserved(name) })
	for _, dir := range p.skillDirs(o) {
		if other, ok := taken[dir+"/"+name]; reserved || ok && other != src.ref {
			name = places.SkillName(strings.ReplaceAll(string(src.ref.ID), "/", "-"))
			break
		}
	}
	if name == "" {
		p.left = append(p.left, left{ref: src.ref.String(), why: "no client takes its name"})
		return nil
	}
	var first string
	for _, dir := range p.skillDirs(o) {
		folder := dir + "/" + name
		if other, ok := taken[folder]; ok {
			p.left = append(p.left, left{ref: src.ref.String(), why: folder + " is the copy of " + other.String()})
			continue
		}
		taken[folder] = src.ref
		if o.link && first != "" {
			p.copies = append(p.copies, copyOf{path: folder, ref: src.ref, link: relative(folder, first), folder: folder})
			continue
		}
		err := src.bundle.Read(func(f objects.File, data []byte) error {
			c := copyOf{path: folder + "/" + f.Path, ref: src.ref, from: f.Path, data: bytes.Clone(data), exec: f.Executable, folder: folder}
			if o.confined {
				c = confine(c, src.ref)
			}
			p.copies = append(p.copies, c)
			return nil
		})
		if err != nil {
			return err
		}
		first = folder
	}
	return nil
}

// skillDirs returns the directories of skills of all clients, each once. The shared one comes
// first: links lead to it.
func (p *plan) skillDirs(o options) []string {
	var dirs []string
	for _, c := range p.clients {
		if d := o.skills(c); d != "" && !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	slices.SortStableFunc(dirs, func(a, b string) int {
		return cmp.Compare(btoi(a != places.Shared), btoi(b != places.Shared))
	})
	return dirs
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// relative returns the target of a link at from to the directory to. Both are slash paths.
func relative(from, to string) string {
	a, b := strings.Split(path.Dir(from), "/"), strings.Split(to, "/")
	for len(a) > 0 && len(b) > 1 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	return strings.Repeat("../", len(a)) + strings.Join(b, "/")
}

// part plans the copies of a command, an agent or a rule.
func (p *plan) part(src *source, part part, taken map[string]objects.Ref, o options) {
	none := true
	for _, c := range p.clients {
		dir, name, data, err := locate(c, part, o)
		if dir == "" {
			continue
		}
		none = false
		if err != nil {
			p.left = append(p.left, left{ref: src.ref.String(), why: part.file.Path + ": " + err.Error()})
			continue
		}
		at := dir + "/" + name
		if other, ok := taken[at]; ok {
			if other != src.ref {
				p.left = append(p.left, left{ref: src.ref.String(), why: at + " is the copy of " + other.String()})
			}
			continue
		}
		taken[at] = src.ref
		cp := copyOf{path: at, ref: src.ref, data: data, folder: at}
		if string(data) == string(part.text.Raw) {
			cp.from = part.file.Path
		}
		p.copies = append(p.copies, cp)
	}
	if none {
		p.left = append(p.left, left{ref: src.ref.String(), why: part.file.Path + ": none of these clients reads " + part.kind})
	}
}

// locate returns where and in which form a client reads a part; "" if it reads none.
func locate(c places.Client, p part, o options) (dir, name string, data []byte, err error) {
	switch p.kind {
	case "commands":
		d := o.commands(c)
		if d.Path == "" {
			return "", "", nil, nil
		}
		name, data, err = places.Command(p.text, d.Form)
		return d.Path, name, data, err
	case "agents":
		if c.Agents == "" || o.user {
			return "", "", nil, nil
		}
		return c.Agents, p.text.Name + ".md", p.text.Raw, nil
	}
	if c.Rules.Path == "" || o.user {
		return "", "", nil, nil
	}
	name, data, err = places.Rule(p.text, c.Rules.Form)
	return c.Rules.Path, name, data, err
}

// former returns the digests that the files of a bundle had in earlier versions that verify, by
// path: exports of those are rye's, too.
func former(ctx context.Context, s *session.Session, l *space.Layer, src *source) (map[string]map[objects.Digest]bool, error) {
	all := map[string]map[objects.Digest]bool{}
	if src.dir == "" {
		return all, nil
	}
	tip, err := l.Tip()
	if err != nil || tip.IsZero() {
		return all, err
	}
	repo, err := l.Repo()
	if err != nil {
		return nil, err
	}
	err = repo.History(ctx, tip, src.dir+"/"+objects.ManifestName, func(_ *store.Commit, e store.Entry) error {
		if e.ID.IsZero() {
			return nil
		}
		raw, err := repo.Blob(e.ID, space.MaxItem)
		if err != nil {
			return err
		}
		m, err := objects.ParseManifest(raw)
		if err != nil {
			return nil
		}
		if _, err := trust.Verify(m.Item(), s.Stack.Scope(l), s.Trust); err != nil {
			return nil
		}
		for _, f := range m.Files {
			if all[f.Path] == nil {
				all[f.Path] = map[objects.Digest]bool{}
			}
			all[f.Path][f.Sum] = true
		}
		return nil
	})
	return all, err
}
