package lockfile

import (
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// readToolHive reads toolhive.lock.yaml, version 1 (RFC THV-0080).
func readToolHive(raw []byte) (*Lock, error) {
	v, err := objects.YAMLValue(raw, MaxSize)
	if err != nil {
		return nil, err
	}
	top, ok := mapping(v)
	if !ok {
		return nil, fault.New(fault.Malformed, "want a mapping")
	}
	l := &Lock{Tool: ToolHive, Version: top.number("version")}
	if l.Version == "" || l.Version == "0" {
		l.Version = "1" // as thv reads one that a person wrote
	}
	if l.Version != "1" {
		return nil, newer(l.Version, "1")
	}
	for _, part := range []string{"skills", "plugins"} {
		items, err := top.items(part)
		if err != nil {
			return nil, err
		}
		if len(l.Entries)+len(items) > MaxEntries {
			return nil, fault.New(fault.Limit, "more than %d entries", MaxEntries)
		}
		seen := map[string]bool{}
		for _, item := range items {
			e := Entry{}
			f, ok := mapping(item)
			if !ok {
				e.Name = "?"
				e.refuse("its entry is no mapping")
				l.Entries = append(l.Entries, e)
				continue
			}
			toolHiveEntry(f, &e)
			if f.wrong != "" {
				e.refuse("its field " + f.wrong + " is malformed")
			}
			if seen[e.Name] {
				e.refuse("its name is given twice")
			}
			seen[e.Name] = true
			l.Unknown += f.leftover()
			l.Entries = append(l.Entries, e)
		}
	}
	l.Unknown += top.leftover()
	return l, nil
}

func toolHiveEntry(f *fields, e *Entry) {
	f.knows("version", "requiredBy", "explicit", "unsigned")
	e.Name = f.str("name")
	source, resolved, digest, content := f.str("source"), f.str("resolvedReference"), f.str("digest"), f.str("contentDigest")
	provenance := f.get("provenance")
	if resolved == "" {
		resolved = source
	}
	rest, git := strings.CutPrefix(resolved, "git://")
	switch {
	case !git && strings.HasPrefix(digest, "sha256:"):
		e.refuse("it is an OCI artifact, which rye does not fetch")
		return
	case !git:
		e.refuse("its reference is no repository")
		return
	case !objects.CommitID(digest):
		e.refuse("its digest is no id of a commit")
		return
	}
	rest, dir, _ := strings.Cut(rest, "#")
	rest, ref, _ := strings.Cut(rest, "@")
	if strings.EqualFold(ref, digest) {
		ref = ""
	}
	e.from("https://"+rest, ref, strings.Trim(dir, "/"))
	if e.Why != "" {
		return
	}
	e.Commit = digest
	if content != "" {
		e.Sums = append(e.Sums, Sum{ContentDigest, content})
	}
	if provenance != nil {
		e.Note = append(e.Note, "its provenance (Sigstore) is not verified by rye")
	}
}
