package share

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// A project may carry the files of its locked items, and the logs of their registries, in
// .ai/vendor (docs/format/vendor.md). All of it is a claim. The files are bytes for the digests
// of the lock; the logs are replayed like those of a host.

const (
	vendorDir  = "vendor"
	vendorLogs = vendorDir + "/logs"
)

// vendorAttributes keeps every byte, whatever the project's own attributes say. A merge of two
// versions is left to rye lock --vendor.
const vendorAttributes = "* -text -filter -ident -working-tree-encoding -merge\n"

// vendorIgnores adds files back that the project ignores by their names, such as *.log.
const vendorIgnores = "!*\n.rye-tmp-*\n"

// vendorFile is a file that belongs into .ai/vendor.
type vendorFile struct {
	path  string // below .ai
	limit int64
	fits  func([]byte) bool
	bytes func(context.Context) ([]byte, error) // the right bytes, from a verified source; nil for a log
}

// vendorPlan is the files that belong into .ai/vendor, by the lock.
type vendorPlan struct {
	files  []vendorFile
	sealed map[string]bool // folders of bundles whose manifests cannot be read: nothing in them is judged
}

// planVendor lists the files that belong into .ai/vendor. Nothing of it needs to be trusted.
func planVendor(s *session.Session) vendorPlan {
	p := vendorPlan{sealed: map[string]bool{}}
	if s.Lock == nil {
		return p
	}
	for _, name := range vendoredRegistries(s) {
		id := s.Lock.Registries[name].ID
		p.add(logPath(id, ""), registry.MaxCopy, func(raw []byte) bool {
			log, err := registry.ParseObjects(raw)
			return err == nil && len(log) > 0 && objects.DigestOf(log[0].Data) == id
		}, nil)
		for _, ns := range vendoredNamespaces(s, name) {
			at := s.Lock.Namespaces[ns]
			p.add(logPath(id, ns), registry.MaxCopy, func(raw []byte) bool {
				log, err := registry.ParseObjects(raw)
				return err == nil && slices.ContainsFunc(log, func(o registry.Object) bool { return objects.DigestOf(o.Data) == at.SHA256 })
			}, nil)
		}
	}
	for ref := range s.Lock.Items {
		if pin, ok := s.Pin(ref); ok {
			p.item(s, ref, pin)
		}
	}
	if len(p.files) == 0 {
		return p
	}
	for name, text := range map[string]string{".gitattributes": vendorAttributes, ".gitignore": vendorIgnores} {
		p.add(vendorDir+"/"+name, int64(len(text)), func(raw []byte) bool { return string(raw) == text },
			func(context.Context) ([]byte, error) { return []byte(text), nil })
	}
	slices.SortFunc(p.files, func(a, b vendorFile) int { return strings.Compare(a.path, b.path) })
	return p
}

func (p *vendorPlan) add(path string, limit int64, fits func([]byte) bool, bytes func(context.Context) ([]byte, error)) {
	p.files = append(p.files, vendorFile{path, limit, fits, bytes})
}

// item adds the files of a locked item.
func (p *vendorPlan) item(s *session.Session, ref objects.Ref, pin space.Pin) {
	of := func(sum objects.Digest) func([]byte) bool {
		return func(raw []byte) bool { return objects.DigestOf(raw) == sum }
	}
	if ref.Kind != objects.Bundle {
		p.add(space.VendorItems+"/"+pin.Path, space.MaxItem, of(pin.Sum), func(context.Context) ([]byte, error) {
			f, err := s.Stack.FromLock(ref)
			if err != nil {
				return nil, err
			}
			return f.Item().Raw, nil
		})
		return
	}
	b := s.Stack.LockedPackage(ref)
	p.add(space.VendorItems+"/"+pin.Path, space.MaxItem, of(pin.Sum), func(context.Context) ([]byte, error) {
		if b.Err != nil {
			return nil, b.Err
		}
		return b.Proof().Item().Raw, nil
	})
	if b.Manifest() == nil {
		p.sealed[space.VendorItems+"/"+ref.PackageDir()] = true
		return
	}
	for _, f := range b.Manifest().Files {
		p.add(space.VendorItems+"/"+b.Dir()+"/"+f.Path, f.Size, f.Matches, func(context.Context) ([]byte, error) {
			if b.Err != nil {
				return nil, b.Err
			}
			return b.File(f.Path)
		})
	}
}

// logPath is the path below .ai of a registry's log ("": the root's).
func logPath(id objects.Digest, namespace string) string {
	if namespace == "" {
		return vendorLogs + "/" + id.Hex() + "/main"
	}
	return vendorLogs + "/" + id.Hex() + "/ns/" + namespace
}

// vendoredRegistries lists the registries of the lock's items, by their names there.
func vendoredRegistries(s *session.Session) (all []string) {
	for _, pin := range s.Lock.Items {
		if pin.From != "" && !slices.Contains(all, pin.From) {
			all = append(all, pin.From)
		}
	}
	slices.Sort(all)
	return all
}

// vendoredNamespaces lists the namespaces of the items that the lock has from a registry.
func vendoredNamespaces(s *session.Session, name string) (all []string) {
	for ref, pin := range s.Lock.Items {
		if ns := ref.ID.Namespace(); pin.From == name && oplog.CheckNamespace(ns) == nil && !slices.Contains(all, ns) {
			all = append(all, ns)
		}
	}
	slices.Sort(all)
	return all
}

// vendorDiff is how .ai/vendor differs from a plan, as paths below .ai.
type vendorDiff struct {
	missing, changed, extra []string
	more                    bool // there are more extra entries
}

// mostExtra bounds the extra entries that a report names.
const mostExtra = 100

// diff compares .ai/vendor with a plan. It looks into no folder that the plan does not have, and so
// needs no time for what somebody put there. all asks for every extra entry.
func (p vendorPlan) diff(ctx context.Context, ai *os.Root, all bool) (d vendorDiff, err error) {
	dirs, files := map[string]bool{}, map[string]bool{}
	for _, f := range p.files {
		if err := ctx.Err(); err != nil {
			return d, err
		}
		files[f.path] = true
		for dir := path.Dir(f.path); dir != "."; dir = path.Dir(dir) {
			dirs[dir] = true
		}
		raw, err := place.ReadIn(ai, f.path, f.limit)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			d.missing = append(d.missing, f.path)
		case err != nil || !f.fits(raw):
			d.changed = append(d.changed, f.path)
		}
	}
	if len(files) == 0 {
		d.extra = append(d.extra, vendorDir)
		return d, nil
	}
	for dir := range dirs {
		if p.sealed[dir] {
			continue
		}
		err := eachIn(ai, dir, func(e fs.DirEntry) bool {
			at := dir + "/" + e.Name()
			if !(dirs[at] && e.IsDir()) && !(files[at] && e.Type().IsRegular()) {
				d.more = len(d.extra) >= mostExtra && !all
				if !d.more {
					d.extra = append(d.extra, at)
				}
			}
			return !d.more
		})
		if err != nil {
			return d, err
		}
	}
	slices.Sort(d.extra)
	return d, nil
}

// eachIn visits the entries of a directory until visit returns false. Anything but a directory has
// none.
func eachIn(ai *os.Root, dir string, visit func(fs.DirEntry) bool) error {
	if st, err := ai.Lstat(dir); err != nil || !st.IsDir() {
		return nil // reported by the directory above
	}
	f, err := ai.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		list, err := f.ReadDir(256)
		for _, e := range list {
			if !visit(e) {
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// openVendor opens the project's .ai, if it has a .ai/vendor; else nil.
func openVendor(s *session.Session) (*os.Root, error) {
	if s.Project == nil {
		return nil, nil
	}
	ai, err := place.Tree(s.AIDir())
	if err != nil {
		return nil, err
	}
	st, err := ai.Lstat(vendorDir)
	if err == nil && st.IsDir() {
		return ai, nil
	}
	ai.Close()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = fault.New(fault.Malformed, ".ai/%s is no plain directory", vendorDir).Mend("rm %s", filepath.Join(s.AIDir(), vendorDir))
	}
	return nil, err
}

// CheckVendor compares .ai/vendor with the lock, without network. The lines are its differences. The
// error is nil without differences, Integrity for changed files, else Drift. A project without
// .ai/vendor has none.
func CheckVendor(ctx context.Context, s *session.Session) (lines []string, err error) {
	ai, err := openVendor(s)
	if ai == nil || err != nil {
		return nil, err
	}
	defer ai.Close()
	if s.LockConflict != nil {
		return nil, nil // which is reported, and says nothing about .ai/vendor
	}
	d, err := planVendor(s).diff(ctx, ai, false)
	if err != nil {
		return nil, err
	}
	for _, kind := range []struct {
		what string
		all  []string
	}{{"changed", d.changed}, {"missing", d.missing}, {"not locked", d.extra}} {
		for _, p := range kind.all {
			lines = append(lines, words.Quote(".ai/"+p)+": "+kind.what)
		}
	}
	if d.more {
		lines = append(lines, "and more that is not locked")
	}
	if len(lines) == 0 {
		return nil, nil
	}
	code := fault.Drift
	if len(d.changed) > 0 {
		code = fault.Integrity
	}
	return lines, fault.New(code, ".ai/%s differs from rye.lock: %s", vendorDir, few(lines)).Mend("rye lock --vendor")
}

// few joins the first lines, and counts the others.
func few(lines []string) string {
	const most = 3
	if len(lines) <= most {
		return strings.Join(lines, "; ")
	}
	return strings.Join(lines[:most], "; ") + "; and " + words.Plural(len(lines)-most, "other difference")
}

// TellVendor tells a person where .ai/vendor differs from the lock.
func TellVendor(ctx context.Context, s *session.Session) {
	if _, err := CheckVendor(ctx, s); err != nil {
		s.Tell(err.Error() + "; " + fault.HintOf(err).String())
	}
}

// DoctorVendor is TellVendor for rye doctor.
func DoctorVendor(ctx context.Context, h *session.Host) []rye.DoctorCheck {
	if h.ProjectDir == "" {
		return nil
	}
	s, err := h.OfAnyOwner().Open()
	if err != nil {
		return nil // another check reports it
	}
	defer s.Close()
	if _, err := CheckVendor(ctx, s); err != nil {
		return []rye.DoctorCheck{session.Checked("vendor", "", err)}
	}
	return nil
}

// TakeVendored verifies the logs in .ai/vendor and learns from them what it would from a host: the
// owners of the locked items' namespaces, and revocations. Logs that this machine already knows as
// far cost nothing. It contacts nobody, but asks the same questions. The session is replaced. It
// reports false where the project has no .ai/vendor.
func TakeVendored(ctx context.Context, s *custody.Desk) (bool, error) {
	ai, err := openVendor(s.Session)
	if ai == nil || err != nil || s.Lock == nil {
		return false, err
	}
	defer ai.Close()
	for _, name := range vendoredRegistries(s.Session) {
		if err := takeLogs(ctx, s, ai, name); err != nil {
			return true, fault.Wrap(err, ".ai/%s", vendorLogs)
		}
	}
	return true, nil
}

// takeLogs is TakeVendored for one registry.
func takeLogs(ctx context.Context, s *custody.Desk, ai *os.Root, name string) error {
	id := s.Lock.Registries[name].ID
	if c, ok := s.Project.Registries[name]; !ok || c.ID != id.String() {
		return fault.New(fault.Conflict, "registry %s: rye.yaml and rye.lock name different ones", words.Quote(name)).
			Advise("ask who changed .ai/rye.yaml; rye pull works once both agree")
	}
	namespaces := vendoredNamespaces(s.Session, name)
	for _, ns := range namespaces {
		if err := mayDecide(s, name, ns); err != nil {
			return err
		}
	}
	logs := map[string][]registry.Object{}
	for _, ns := range append([]string{""}, namespaces...) {
		raw, err := place.ReadIn(ai, logPath(id, ns), registry.MaxCopy)
		if err == nil {
			logs[ns], err = registry.ParseObjects(raw)
		}
		if err != nil {
			return fault.Wrap(err, "%s", oplog.LogName(ns))
		}
	}
	if known, err := knows(s, name, logs); known || err != nil {
		return err
	}
	if err := os.MkdirAll(s.CacheDir, 0o700); err != nil {
		return err
	}
	dir, remove, err := registry.MakeCopy(ctx, s.CacheDir, logs)
	if err != nil {
		return err
	}
	defer remove()
	reg, err := openAt(s, id.String(), registry.Options{URL: s.Project.Registries[name].URL, Copy: dir})
	if err != nil {
		return err
	}
	defer reg.Close()
	return learnFrom(ctx, s, reg, namespaces)
}

// knows reports whether this machine knows every one of these logs, as far as they go.
func knows(s *custody.Desk, name string, logs map[string][]registry.Object) (bool, error) {
	reg, err := openHere(s, name)
	if err != nil {
		return false, err
	}
	defer reg.Close()
	points, err := reg.Verified()
	if err != nil {
		return false, err
	}
	for ns, log := range logs {
		if b, bound := s.Trust.Binding(ns); ns != "" && (!bound || b.Registry != reg.ID().String()) {
			return false, nil
		}
		if points[ns].Seq < uint64(operations(log)) {
			return false, nil
		}
	}
	return true, nil
}

// operations counts the operations of a log, which come before its lists.
func operations(log []registry.Object) int {
	for i, o := range log {
		if o.Type != log[0].Type {
			return i
		}
	}
	return len(log)
}

// learnFrom verifies the logs of a copy and stores what follows from them.
func learnFrom(ctx context.Context, s *custody.Desk, reg *registry.Registry, namespaces []string) error {
	shown, err := reg.Survey(ctx, namespaces...)
	if err != nil {
		return err
	}
	for _, st := range shown {
		if st.Down != nil {
			return st.Down
		}
	}
	if err := settle(ctx, s, reg, namespaces); err != nil {
		return err
	}
	root, err := reg.Root(ctx)
	if err != nil {
		return err
	}
	if err := UpdateRoots(s, reg.ID(), root); err != nil {
		return err
	}
	if err := LockFault(ctx, s, reg, namespaces...); err != nil {
		return err
	}
	for _, ns := range namespaces {
		b, err := reg.Binding(ns)
		if err == nil && slices.ContainsFunc(b.Bound(), func(k trust.BoundKey) bool { return k.State == trust.Retired }) {
			err = lookAtLocked(ctx, s, reg, ns) // a retired key counts only for what the catalogue shows
		}
		if err == nil {
			err = UpdateTrust(ctx, s, reg, ns)
		}
		if err != nil {
			return err
		}
	}
	warnings, err := Newest(s, reg, root, namespaces...)
	for _, w := range warnings {
		s.Tell(w)
	}
	if err != nil {
		return err
	}
	s.Session, err = s.WithTrust()
	return err
}
