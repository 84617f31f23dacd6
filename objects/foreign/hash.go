package foreign

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // git's ids of trees
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// The modes of git's trees.
const (
	modeDir    = "40000"
	modeFile   = "100644"
	modeExec   = "100755"
	modeLink   = "120000"
	modeModule = "160000"
)

// leaf is an entry of a tree that is no directory.
type leaf struct {
	path, mode string
	data       []byte
}

// Hash returns git's tree id (SHA-1) and OpenAPM's tree_sha256 (OpenAPM 0.1, 5.6.4) of a folder
// as it came: links are links, and no name is changed. dir is a slash path below the tree, "." or
// "" for all of it. Git keeps no empty folders, so both leave them out; OpenAPM knows no
// submodules. A folder without a file is fault.NotFound.
func Hash(t Tree, dir string) (tree string, sum objects.Digest, err error) {
	dir = path.Clean(dir)
	var all []leaf
	take := func(p string, l leaf) {
		if dir != "." {
			rest, below := strings.CutPrefix(p, dir+"/")
			if !below {
				return
			}
			p = rest
		}
		l.path = p
		all = append(all, l)
	}
	for _, f := range t.Files {
		mode := modeFile
		if f.Executable {
			mode = modeExec
		}
		take(f.Path, leaf{mode: mode, data: f.Data})
	}
	for _, l := range t.Links {
		mode := modeLink
		if l.Module {
			mode = modeModule
		}
		take(l.Path, leaf{mode: mode, data: []byte(l.Target)})
	}
	if len(all) == 0 {
		return "", sum, fault.New(fault.NotFound, "%q holds no files", words.Brief(dir))
	}
	slices.SortFunc(all, func(a, b leaf) int { return strings.Compare(a.path, b.path) })
	id, text, err := hashed(all, 0)
	if err != nil {
		return "", sum, err
	}
	return hex.EncodeToString(id), objects.DigestOf(text), nil
}

// entry is one line of a tree, in git's form and in that of OpenAPM.
type entry struct {
	name, mode string
	id         []byte // SHA-1
	sum        [32]byte
}

// hashed hashes the leaves below one directory, whose paths are sorted. skip is the length of the
// directory's path with its slash. text is OpenAPM's form of the directory.
func hashed(all []leaf, skip int) (id, text []byte, err error) {
	var entries []entry
	for i := 0; i < len(all); {
		name, _, deeper := strings.Cut(all[i].path[skip:], "/")
		if !deeper {
			e, err := all[i].entry(name)
			if err != nil {
				return nil, nil, err
			}
			entries, i = append(entries, e), i+1
			continue
		}
		end := i
		for prefix := all[i].path[:skip] + name + "/"; end < len(all) && strings.HasPrefix(all[end].path, prefix); {
			end++
		}
		below, lines, err := hashed(all[i:end], skip+len(name)+1)
		if err != nil {
			return nil, nil, err
		}
		entries, i = append(entries, entry{name, modeDir, below, sha256.Sum256(lines)}), end
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	for i := 1; i < len(entries); i++ {
		if entries[i].name == entries[i-1].name {
			return nil, nil, fault.New(fault.Malformed, "%q is twice in one folder", words.Brief(entries[i].name))
		}
	}
	for _, e := range entries {
		if e.mode != modeModule {
			text = fmt.Appendf(text, "%06s %s %x\n", e.mode, e.name, e.sum)
		}
	}
	// git sorts a directory as if its name ended in a slash.
	key := func(e entry) string {
		if e.mode == modeDir {
			return e.name + "/"
		}
		return e.name
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(key(a), key(b)) })
	var raw bytes.Buffer
	for _, e := range entries {
		raw.WriteString(e.mode + " " + e.name + "\x00")
		raw.Write(e.id)
	}
	return gitID("tree", raw.Bytes()), text, nil
}

func (l leaf) entry(name string) (entry, error) {
	if l.mode != modeModule {
		return entry{name, l.mode, gitID("blob", l.data), sha256.Sum256(l.data)}, nil
	}
	id, err := hex.DecodeString(string(l.data))
	if err != nil || len(id) != sha1.Size {
		return entry{}, fault.New(fault.Malformed, "submodule %q: its commit is no SHA-1", words.Brief(l.path))
	}
	return entry{name: name, mode: l.mode, id: id}, nil
}

func gitID(kind string, data []byte) []byte {
	h := sha1.New()
	fmt.Fprintf(h, "%s %d\x00", kind, len(data))
	h.Write(data)
	return h.Sum(nil)
}
