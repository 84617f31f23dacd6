package share

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// Vendor makes .ai/vendor hold what the lock pins from registries, and nothing else: the verified
// files, and the logs as this machine verified them. It uses the network only for log entries
// that this machine began after. An item that may not be used is refused, and then nothing is
// written.
func Vendor(ctx context.Context, s *custody.Desk, q rye.VendorRequest) (*rye.VendorReport, error) {
	if s.Lock == nil {
		return nil, fault.New(fault.NotFound, "no lock here: no .ai/rye.lock").Mend("rye lock")
	}
	if !q.DryRun {
		fresh, release, err := s.Alone(ctx)
		if err != nil {
			return nil, err
		}
		defer release()
		desk := *s
		desk.Session, s = fresh, &desk
		// Another person's copy may know more than this machine. One that proves nothing is replaced.
		if _, err := TakeVendored(ctx, s); fault.Is(err, fault.Fork) || fault.Is(err, fault.Untrusted) {
			return nil, err
		}
	}
	plan := planVendor(s.Session)
	if err := plan.withLogs(ctx, s); err != nil {
		return nil, err
	}
	ai, err := place.Tree(s.AIDir())
	if err != nil {
		return nil, err
	}
	defer ai.Close()
	if err := onlyOurs(ai); err != nil {
		return nil, err
	}
	rep := &rye.VendorReport{Path: ".ai/" + vendorDir, Files: len(plan.files), DryRun: q.DryRun}
	d, err := plan.diff(ctx, ai, true)
	if err != nil {
		return nil, err
	}
	if _, err := ai.Lstat(vendorDir); len(plan.files) == 0 && errors.Is(err, fs.ErrNotExist) {
		return rep, nil
	}
	news, err := plan.fetch(ctx, d) // before anything is written
	if err != nil {
		return nil, err
	}
	rep.Added, rep.Changed, rep.Removed = shownPaths(d.missing), shownPaths(d.changed), shownPaths(d.extra)
	if q.DryRun {
		return rep, nil
	}
	for _, p := range d.extra {
		if err := ai.RemoveAll(p); err != nil {
			return nil, fault.New(fault.Failed, "remove %s: %w", words.Quote(".ai/"+p), err)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(news)) {
		if err := writeVendored(ai, p, news[p]); err != nil {
			return nil, err
		}
	}
	if len(plan.files) > 0 {
		err = unignore(ai)
	}
	return rep, err
}

// withLogs adds the bytes of the logs to a plan. A log fits only if it is the one that this machine
// verified.
func (p *vendorPlan) withLogs(ctx context.Context, s *custody.Desk) error {
	logs := map[string][]byte{}
	for _, name := range vendoredRegistries(s.Session) {
		if c, ok := s.Project.Registries[name]; !ok || c.ID != s.Lock.Registries[name].ID.String() {
			return fault.New(fault.Conflict, "registry %s: rye.yaml and rye.lock name different ones", words.Quote(name)).
				Advise("ask who changed .ai/rye.yaml")
		}
		reg, err := openHere(s, name)
		if err != nil {
			return err
		}
		err = copyLogs(ctx, s, reg, name, logs)
		reg.Close()
		if fault.Is(err, fault.Offline) && !s.Offline {
			if reg, err = Open(s, name, nil); err != nil {
				return err
			}
			err = copyLogs(ctx, s, reg, name, logs)
			reg.Close()
		}
		if err != nil {
			return fault.Wrap(err, "vendor the log of registry %s", name)
		}
	}
	for i := range p.files {
		f := &p.files[i]
		if raw, ok := logs[f.path]; ok {
			f.fits = func(is []byte) bool { return string(is) == string(raw) }
			f.bytes = func(context.Context) ([]byte, error) { return raw, nil }
		}
	}
	return nil
}

// copyLogs adds the logs of a registry to logs, by their paths.
func copyLogs(ctx context.Context, s *custody.Desk, reg *registry.Registry, name string, logs map[string][]byte) error {
	namespaces := vendoredNamespaces(s.Session, name)
	if err := LockFault(ctx, s, reg, namespaces...); err != nil {
		return err
	}
	for _, ns := range append([]string{""}, namespaces...) {
		var refs []objects.Ref
		if ns != "" {
			refs = lockedOf(s, ns)
		}
		log, err := reg.CopyLog(ctx, ns, refs...)
		if err != nil {
			return err
		}
		raw := registry.EncodeObjects(log)
		if len(raw) > registry.MaxCopy {
			return fault.New(fault.Limit, "the log of %s has %d bytes, at most %d can be vendored", ns, len(raw), registry.MaxCopy)
		}
		logs[logPath(reg.ID(), ns)] = raw
	}
	return nil
}

// fetch reads the files that are missing or changed from their verified sources.
func (p *vendorPlan) fetch(ctx context.Context, d vendorDiff) (map[string][]byte, error) {
	wanted, news := map[string]bool{}, map[string][]byte{}
	for _, path := range slices.Concat(d.missing, d.changed) {
		wanted[path] = true
	}
	for _, f := range p.files {
		if !wanted[f.path] {
			continue
		}
		raw, err := f.bytes(ctx)
		if err == nil && !f.fits(raw) {
			err = fault.New(fault.Integrity, "vendor .ai/%s: its source changed meanwhile", f.path).Mend("rye lock --vendor")
		}
		if err != nil {
			return nil, err
		}
		news[f.path] = raw
	}
	return news, nil
}

// onlyOurs refuses a .ai/vendor that holds something of its user's: rye removes what the lock does
// not name.
func onlyOurs(ai *os.Root) (err error) {
	ours := []string{path.Base(vendorLogs), "items", ".gitattributes", ".gitignore"}
	if st, lerr := ai.Lstat(vendorDir); lerr == nil && !st.IsDir() {
		return fault.New(fault.Conflict, ".ai/%s is no plain directory", vendorDir).Advise("give it another name: rye keeps its copies there")
	}
	rerr := eachIn(ai, vendorDir, func(e fs.DirEntry) bool {
		if !slices.Contains(ours, e.Name()) {
			err = fault.New(fault.Conflict, ".ai/%s/%s: rye keeps only its own copies in this folder", vendorDir, words.Quote(e.Name())).
				Advise("move it elsewhere: rye removes from there what the lock does not name")
		}
		return err == nil
	})
	return errors.Join(err, rerr)
}

// writeVendored writes one file and makes the folders above it.
func writeVendored(ai *os.Root, p string, raw []byte) error {
	err := ai.MkdirAll(path.Dir(p), 0o755)
	if err == nil {
		err = place.FileIn(ai, p, raw, 0o644)
	}
	if err != nil {
		return fault.Wrap(err, "write .ai/%s", p)
	}
	return nil
}

// unignored is the line of .ai/.gitignore for projects that ignore every folder named vendor.
const unignored = "!/" + vendorDir + "/\n"

// unignore makes the user's git take in .ai/vendor.
func unignore(ai *os.Root) error {
	old, err := place.ReadIn(ai, ".gitignore", 1<<20)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || slices.Contains(strings.SplitAfter(string(old), "\n"), unignored) {
		return nil // a link or so that the user made
	}
	if len(old) > 0 && !strings.HasSuffix(string(old), "\n") {
		old = append(old, '\n')
	}
	return place.FileIn(ai, ".gitignore", append(old, unignored...), 0o644)
}

func shownPaths(all []string) (shown []string) {
	for _, p := range all {
		shown = append(shown, ".ai/"+p)
	}
	return shown
}
