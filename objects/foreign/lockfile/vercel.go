package lockfile

import (
	"path"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/strict"
	"github.com/rye-os/rye/objects"
)

// readVercel reads skills-lock.json, version 1 (npm skills 1.7.4).
func readVercel(raw []byte) (*Lock, error) { return readSkills(raw, "1", vercelEntry) }

// readVercelGlobal reads .skill-lock.json of a home directory, version 3.
func readVercelGlobal(raw []byte) (*Lock, error) { return readSkills(raw, "3", vercelGlobalEntry) }

func readSkills(raw []byte, version string, entry func(*fields, *Entry)) (*Lock, error) {
	v, err := strict.Value(raw, MaxSize)
	if err != nil {
		return nil, err
	}
	top, ok := mapping(v)
	if !ok {
		return nil, fault.New(fault.Malformed, "want an object")
	}
	l := &Lock{Tool: Vercel, Version: top.number("version")}
	if l.Version != version {
		return nil, newer(l.Version, version)
	}
	all, ok := top.get("skills").(map[string]any)
	if !ok {
		return nil, fault.New(fault.Malformed, "skills is no object")
	}
	top.knows("dismissed", "lastSelectedAgents")
	l.Unknown = top.leftover()
	if len(all) > MaxEntries {
		return nil, fault.New(fault.Limit, "%d entries, at most %d are read", len(all), MaxEntries)
	}
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		e := Entry{Name: name}
		f, ok := mapping(all[name])
		switch {
		case !ok:
			e.refuse("its entry is no object")
		case !text(name) || name == "":
			e.refuse("its name is empty, too long or holds a control character")
		default:
			entry(f, &e)
			if f.wrong != "" {
				e.refuse("its field " + f.wrong + " is malformed")
			}
			l.Unknown += f.leftover()
		}
		l.Entries = append(l.Entries, e)
	}
	return l, nil
}

func vercelEntry(f *fields, e *Entry) {
	f.knows("subagents", "via", "version", "pluginName")
	computed, served := f.str("computedHash"), f.str("wellKnownDigest")
	vercelSource(f, e)
	switch {
	case e.Why != "":
	case served != "" && e.Source.Kind == objects.SourceSite:
		e.Sums = append(e.Sums, Sum{WellKnownDigest, served})
	case computed != "":
		e.Sums = append(e.Sums, Sum{ComputedHash, computed})
	}
}

func vercelGlobalEntry(f *fields, e *Entry) {
	f.knows("installedAt", "updatedAt", "pluginName")
	folder, served := f.str("skillFolderHash"), f.str("wellKnownDigest")
	vercelSource(f, e)
	switch {
	case e.Why != "":
	case served != "" && e.Source.Kind == objects.SourceSite:
		e.Sums = append(e.Sums, Sum{WellKnownDigest, served})
	case len(folder) == 40:
		e.Sums = append(e.Sums, Sum{SkillFolderHash, folder})
	case folder != "":
		e.Sums = append(e.Sums, Sum{ComputedHash, folder})
	}
}

// vercelSource reads where a skill came from. vercel's skills records a branch or a tag, and never a
// commit.
func vercelSource(f *fields, e *Entry) {
	source, url, ref, kind, file := f.str("source"), f.str("sourceUrl"), f.str("ref"), f.str("sourceType"), f.str("skillPath")
	dir, ok := skillFolder(file)
	if !ok {
		e.refuse("its skillPath leads to no SKILL.md")
		return
	}
	if file == "" {
		e.Skills = []string{e.Name}
	}
	bare := func(s string) bool { return !strings.Contains(s, ":") && strings.Count(s, "/") == 1 }
	switch kind {
	case "github":
		if bare(source) {
			source = "github:" + source
		}
		if source == "" {
			source = url
		}
		e.from(source, ref, dir)
	case "git", "gitlab":
		if url == "" {
			url = source
		}
		if bare(url) {
			e.refuse("its sourceUrl is missing, and its source names no host")
			return
		}
		e.from(url, ref, dir)
	case "well-known":
		if base := f.str("sourceBaseUrl"); base != "" {
			url = base
		}
		at, ok := siteOf(url)
		if !ok {
			e.refuse("its sourceUrl is no address of a site")
			return
		}
		e.Skills = []string{e.Name}
		e.from(at, "", "")
	case "local":
		if dir != "" && !strings.HasSuffix("/"+source, "/"+dir) {
			source = path.Join(source, dir)
		}
		e.inside(source)
	case "node_modules":
		e.refuse("it is part of an npm package, which npm's own lock file pins")
		if text(source) && source != "" && !strings.Contains(source, "..") && !strings.HasPrefix(source, "/") {
			e.Try = "./node_modules/" + source
		}
	case "download":
		e.refuse("it came from a download, and its lock entry has no address that rye reads")
	default:
		e.refuse("its sourceType is unknown")
	}
}

// siteOf returns the address of a site from an address below it, as rye add takes it.
func siteOf(url string) (string, bool) {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok || scheme != "https" && scheme != "http" {
		return "", false
	}
	host, below, _ := strings.Cut(rest, "/")
	below, _, _ = strings.Cut("/"+below, "/.well-known/")
	below = strings.TrimRight(below, "/")
	if below == "" {
		return scheme + "://" + host, true
	}
	return scheme + "://" + host + below + objects.SiteIndex, true
}

// skillFolder returns the folder of a SKILL.md; "" is the root, also without a path.
func skillFolder(file string) (string, bool) {
	if file == "" {
		return "", true
	}
	if !strings.EqualFold(path.Base(file), objects.SkillFile) || strings.HasPrefix(file, "/") {
		return "", false
	}
	dir := path.Dir(file)
	if dir == "." {
		dir = ""
	}
	return strings.TrimPrefix(dir, "./"), true
}
