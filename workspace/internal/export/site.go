package export

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/foreign"
	"github.com/rye-os/rye/objects/foreign/discovery"
	"github.com/rye-os/rye/workspace/internal/session"
)

// siteDir is the directory of an index of skills below the root of a site.
var siteDir = strings.TrimPrefix(path.Dir(objects.SiteIndex), "/")

const indexName = "index.json"

// siteFile is a file of a site as rye would write it.
type siteFile struct {
	path  string // below siteDir
	data  []byte
	skill string // "" for the index
	state string
}

// Site writes the verified skills of the project as a web site with an index: docs/format/discovery.md.
// It replaces only files that its own index names with their digest. The report is returned beside an
// error when skills were left out, and with Check when files differ.
func Site(ctx context.Context, s *session.Session, q rye.SiteExport) (*rye.SiteExported, error) {
	dir, err := filepath.Abs(q.Dir)
	if err != nil {
		return nil, err
	}
	sources, out, err := sourcesOf(ctx, s, objects.Project, q.Targets, q.Check || q.DryRun)
	if err != nil {
		return nil, err
	}
	w := &siteWriter{disk: disk{dir}, rep: &rye.SiteExported{Dir: dir, DryRun: q.DryRun || q.Check}}
	if _, err := os.Stat(dir); err == nil || q.Check {
		if err := w.look(); err != nil {
			return nil, err
		}
	}
	if err := w.skills(sources, out); err != nil {
		return w.rep, err
	}
	changed, err := w.judge(q.Check)
	if err != nil {
		return w.rep, err
	}
	switch {
	case q.Check && changed > 0:
		return w.rep, fault.New(fault.Drift, "export --check: %s of the site differ", words.Plural(changed, "file")).With(fault.CommandOf("rye", "export", "--site", q.Dir))
	case !q.Check && !q.DryRun:
		if err := w.write(); err != nil {
			return w.rep, err
		}
	}
	return w.rep, w.first
}

// siteWriter is one export of a site.
type siteWriter struct {
	disk  disk
	rep   *rye.SiteExported
	own   map[string]string // by path: the digest in the index that rye wrote before
	alien bool              // an index is there that rye did not write
	files []siteFile
	first error // why the first skill that should be there is left out
}

// look reads the index that is there.
func (w *siteWriter) look() error {
	w.own = map[string]string{}
	at, err := w.disk.read(siteDir + "/" + indexName)
	if err != nil || at.none {
		return err
	}
	entries, ok := discovery.Own(at.data)
	w.alien = !ok || at.link != ""
	for _, e := range entries {
		if p := e.URL; ok && (p == e.Name+".tar.gz" || p == e.Name+"/"+objects.SkillFile) && discovery.ValidName(e.Name) {
			w.own[p] = e.Digest
		}
	}
	return nil
}

func (w *siteWriter) leave(ref, why string, code fault.Code) {
	w.rep.Left = append(w.rep.Left, rye.ClientLeft{Ref: ref, Why: why})
	if code != "" && w.first == nil {
		w.first = fault.New(code, "export --site: %s is left out: %s", ref, why)
	}
}

// skills makes the artifact of each skill, and the index.
func (w *siteWriter) skills(sources []source, out []left) error {
	for _, l := range out {
		w.leave(l.ref, l.why, l.code)
	}
	var entries []discovery.Entry
	taken := map[string]string{}
	for i := range sources {
		src := &sources[i]
		if src.skill == "" {
			continue
		}
		other, twice := taken[src.skill]
		switch {
		case !discovery.ValidName(src.skill):
			w.leave(src.ref.String(), "its name "+words.Quote(words.Brief(src.skill))+" is none by the rules of Agent Skills", "")
			continue
		case twice:
			w.leave(src.ref.String(), "its skill is called "+src.skill+", as that of "+other, "")
			continue
		}
		e, f, err := w.artifact(src)
		if err != nil {
			w.leave(src.ref.String(), err.Error(), fault.CodeOf(err))
			continue
		}
		taken[src.skill] = src.ref.String()
		entries, w.files = append(entries, e), append(w.files, f)
	}
	if len(entries) == 0 {
		return cmp.Or(w.first, error(fault.New(fault.NotFound, "export --site: no skill here verifies").Advise("rye verify shows the reasons")))
	}
	index, err := discovery.Encode(entries)
	if err != nil {
		return err
	}
	w.files = append(w.files, siteFile{path: indexName, data: index}) // last: it names the others
	return nil
}

// artifact returns the line of the index for a skill, and its file. A SKILL.md alone is served as it
// is. An archive that is there already and holds the same files stays: another version of rye may
// compress in another way.
func (w *siteWriter) artifact(src *source) (e discovery.Entry, f siteFile, err error) {
	var files []foreign.File
	err = src.bundle.Read(func(f objects.File, data []byte) error {
		files = append(files, foreign.File{Path: f.Path, Data: bytes.Clone(data), Executable: f.Executable})
		if f.Path == objects.SkillFile {
			it, err := objects.Parse(src.ref.PackageDir()+"/"+f.Path, data)
			if err != nil {
				return err
			}
			e.Description = it.Meta.Description
		}
		return nil
	})
	if err == nil {
		err = discovery.Check(files)
	}
	if err != nil {
		return e, f, err
	}
	e.Name, e.Type = src.skill, discovery.TypeArchive
	e.URL = src.skill + ".tar.gz"
	if len(files) == 1 && !files[0].Executable {
		e.Type, e.URL = discovery.TypeSkill, src.skill+"/"+objects.SkillFile
	}
	f = siteFile{path: e.URL, skill: src.skill}
	if e.Type == discovery.TypeSkill {
		f.data = files[0].Data
	} else if f.data, err = w.kept(e.URL, files); err == nil && f.data == nil {
		f.data, err = discovery.Pack(files)
	}
	if len(f.data) > discovery.MaxArtifact {
		return e, f, fault.New(fault.Limit, "its archive has more than %d bytes", discovery.MaxArtifact)
	}
	e.Digest = objects.DigestOf(f.data).String()
	return e, f, err
}

// kept returns an archive that is there if it holds exactly these files; nil otherwise.
func (w *siteWriter) kept(p string, files []foreign.File) ([]byte, error) {
	at, err := w.disk.read(siteDir + "/" + p)
	if err != nil || at.none || at.link != "" || len(at.data) > discovery.MaxArtifact {
		return nil, err
	}
	have, err := discovery.Unpack(discovery.TypeArchive, at.data)
	if err != nil || len(have) != len(files) {
		return nil, nil
	}
	for _, f := range files {
		if !slices.ContainsFunc(have, func(h foreign.File) bool {
			return h.Path == f.Path && h.Executable == f.Executable && bytes.Equal(h.Data, f.Data)
		}) {
			return nil, nil
		}
	}
	return at.data, nil
}

// judge compares every file with the disk before anything is written. It returns how many differ.
func (w *siteWriter) judge(check bool) (changed int, err error) {
	wanted := map[string]bool{}
	for i := range w.files {
		f := &w.files[i]
		wanted[f.path] = true
		at, err := w.disk.read(siteDir + "/" + f.path)
		if err != nil {
			return 0, err
		}
		same := at.link == "" && bytes.Equal(at.data, f.data)
		switch {
		case at.none:
			f.state = "missing"
		case same:
			f.state = "unchanged"
		case at.link != "", f.skill != "" && w.own[f.path] != objects.DigestOf(at.data).String(), f.skill == "" && w.alien:
			f.state = "changed"
			if !check {
				return 0, fault.New(fault.Conflict, "export --site: %s is there, and rye did not write it", path.Join(siteDir, f.path)).
					Advise("move it away, or name another folder")
			}
		default:
			f.state = "behind"
		}
		if f.state != "unchanged" {
			changed++
		}
	}
	for p, digest := range w.own {
		at, err := w.disk.read(siteDir + "/" + p)
		if err != nil {
			return 0, err
		}
		if !wanted[p] && !at.none && at.link == "" && objects.DigestOf(at.data).String() == digest {
			w.files = append(w.files, siteFile{path: p, skill: path.Base(p), state: "left over"})
			changed++
		}
	}
	for _, f := range w.files {
		line := rye.SiteFile{Path: path.Join(siteDir, f.path), Skill: f.skill, State: f.state}
		if f.data != nil {
			line.SHA256 = objects.DigestOf(f.data).String()
		}
		w.rep.Files = append(w.rep.Files, line)
	}
	slices.SortFunc(w.rep.Files, func(a, b rye.SiteFile) int { return strings.Compare(a.Path, b.Path) })
	return changed, nil
}

// write writes the artifacts, then the index, and then removes what no index names any more.
func (w *siteWriter) write() error {
	if err := os.MkdirAll(w.disk.dir, 0o755); err != nil {
		return err
	}
	for i, f := range w.files {
		var err error
		switch f.state {
		case "unchanged":
			continue
		case "left over":
			err = w.disk.remove(siteDir+"/"+f.path, siteDir)
			f.state = "removed"
		default:
			err = w.disk.write(siteDir+"/"+f.path, f.data, false)
			f.state = "written"
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", path.Join(siteDir, f.path), err)
		}
		w.files[i].state = f.state
	}
	for i := range w.rep.Files {
		for _, f := range w.files {
			if path.Join(siteDir, f.path) == w.rep.Files[i].Path {
				w.rep.Files[i].State = f.state
			}
		}
	}
	return nil
}
