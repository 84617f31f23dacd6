package registrytest

import (
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/store"
)

// keeper is the author of states and versions.
var keeper = store.Ident{Name: "rye", Email: "content@rye.invalid"}

// The files of a state, without its lists and shards.
const (
	Namespace = "namespace.yaml"
	Changes   = "changes.jsonl"
)

// State returns the files of the state that an operation names.
func (h *Host) State(c *store.Commit) map[string]string {
	h.t.Helper()
	words := strings.Fields(Trailer(c.Message, "Rye-State"))
	kept, err := store.ParseOID(words[len(words)-1])
	if err != nil {
		h.t.Fatal(err)
	}
	files := map[string]string{}
	h.files(h.Commit(kept).Tree, "", files)
	return files
}

func (h *Host) files(tree store.OID, below string, into map[string]string) {
	h.t.Helper()
	list, err := h.repo.Tree(tree)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range list {
		if e.Mode == store.ModeDir {
			h.files(e.ID, below+e.Name+"/", into)
		} else {
			into[below+e.Name] = h.Raw(e.ID)
		}
	}
}

// Blobs returns the ids of the lists or shards below the root list of an operation's state whose
// file names match a pattern.
func (h *Host) Blobs(c *store.Commit, pattern string) (ids []store.OID) {
	h.t.Helper()
	for name, raw := range h.State(c) {
		dir, file := path.Split(name)
		if is, _ := path.Match(pattern, file); is && strings.Count(dir, "/") == 2 {
			ids = append(ids, store.SHA1.Hash(store.TypeBlob, []byte(raw)))
		}
	}
	return ids
}

// Restate makes an operation name another state: change edits its files, and the lists are made
// anew. twist may be nil; it may change the text of each list, by path.
func (h *Host) Restate(c *store.Commit, change func(files map[string]string), twist func(path, text string) string) {
	h.t.Helper()
	files := h.State(c)
	change(files)
	if twist == nil {
		twist = func(_, text string) string { return text }
	}
	root := listLine("keys", h.blob(files[Namespace]), files[Namespace])
	for _, digit := range "0123456789abcdef" {
		list, at := "", fmt.Sprintf("catalogue/%c/list", digit)
		for _, shard := range slices.Sorted(maps.Keys(files)) {
			if name, ok := strings.CutSuffix(shard, ".jsonl"); ok && strings.HasPrefix(name, fmt.Sprintf("catalogue/%c/", digit)) {
				list += listLine(name[len(name)-2:], h.blob(files[shard]), files[shard])
			}
		}
		delete(files, at)
		if list != "" {
			files[at] = twist(at, list)
			root += listLine(string(digit), h.blob(files[at]), files[at])
		}
	}
	files["catalogue/list"] = twist("catalogue/list", root)
	if raw := files[Changes]; raw != "" {
		words := strings.Fields(Trailer(c.Message, "Rye-Changes"))
		words[0], words[2], words[3] = fmt.Sprint(strings.Count(raw, "\n")), Digest(raw), h.blob(raw).String()
		SetTrailer(c, "Rye-Changes", strings.Join(words, " "))
	}
	message := fmt.Sprintf("state of %s after operation %s\n", Trailer(c.Message, "Rye-Namespace"), Trailer(c.Message, "Rye-Seq"))
	kept := h.plain(files, message, c.Committer.Unix)
	list := files["catalogue/list"]
	SetTrailer(c, "Rye-State", fmt.Sprintf("%s %s %s", Digest(list), h.blob(list), kept))
}

func (h *Host) blob(raw string) store.OID {
	h.t.Helper()
	return h.Put(store.TypeBlob, raw)
}

func listLine(name string, id store.OID, raw string) string {
	return fmt.Sprintf("%s %s %s\n", name, strings.TrimPrefix(Digest(raw), "sha256:"), id)
}

// plain stores files in an unsigned commit without parents.
func (h *Host) plain(files map[string]string, message string, unix int64) store.OID {
	h.t.Helper()
	const desk = "refs/attack/desk"
	var list []store.Change
	for path, raw := range files {
		list = append(list, store.Change{Path: path, Data: []byte(raw)})
	}
	h.Set(desk, store.OID{})
	id, err := h.repo.Edit(context.Background(), desk, list, store.CommitOptions{Message: message, Author: keeper, When: time.Unix(unix, 0).UTC()})
	if err != nil {
		h.t.Fatal(err)
	}
	h.Set(desk, store.OID{})
	return id
}

// Version stores one file as the version of an item.
func (h *Host) Version(name, path, file string, unix int64) store.OID {
	h.t.Helper()
	return h.VersionSaying(name, path, file, Digest(file), unix)
}

// Replace makes a publish operation publish another file under the same name.
func (h *Host) Replace(c *store.Commit, name, path, file string, unix int64) {
	h.t.Helper()
	id := h.Version(name, path, file, unix)
	h.EditLine(c, name, func(line string) string {
		line = Field(line, "commit", fmt.Sprintf("%q", id))
		line = Field(line, "sha256", fmt.Sprintf("%q", Digest(file)))
		return Field(line, "size", fmt.Sprint(len(file)))
	})
}

// EditLine changes the catalogue line of a version in the state of an operation, and in its change
// list if it is there.
func (h *Host) EditLine(c *store.Commit, name string, change func(line string) string) {
	h.t.Helper()
	found := false
	h.Restate(c, func(files map[string]string) {
		for path, raw := range files {
			if !strings.HasSuffix(path, ".jsonl") {
				continue
			}
			out := ""
			for line := range strings.Lines(raw) {
				if named(line, name) {
					found, line = true, change(line)
				}
				out += line
			}
			files[path] = out
		}
	}, nil)
	if !found {
		h.t.Fatalf("no line of %s", name)
	}
}

// named reports whether a line describes a version.
func named(line, name string) bool {
	item, version, _ := strings.Cut(name, "@")
	return strings.Contains(line, `"item":"`+item+`"`) && strings.Contains(line, `"version":"`+version+`"`)
}

// Field sets a field of a catalogue line to value, which is JSON.
func Field(line, name, value string) string {
	return regexp.MustCompile(`"`+name+`":("[^"]*"|[0-9]+)`).ReplaceAllString(line, `"`+name+`":`+value)
}

// VersionSaying stores a file as a version whose message names another digest.
func (h *Host) VersionSaying(name, path, file, digest string, unix int64) store.OID {
	h.t.Helper()
	item, version, _ := strings.Cut(name, "@")
	return h.plain(map[string]string{path: file}, fmt.Sprintf("%s\n\nRye-Format: 1\nRye-Item: %s\nRye-Version: %s\nRye-Path: %s\nRye-Sha256: %s\n",
		name, item, version, path, digest), unix)
}

// File returns the file at a path in a tree.
func (h *Host) File(tree store.OID, path string) string {
	h.t.Helper()
	files := map[string]string{}
	h.files(tree, "", files)
	return files[path]
}
