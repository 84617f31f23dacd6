package foreign

import (
	"cmp"
	"crypto/sha1"
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

// Sum names the content of a folder in two ways.
type Sum struct {
	Tree string         // the id of the git tree, by SHA-1
	Sum  objects.Digest // OpenAPM's tree_sha256
}

// Hash returns the id of the git tree, and OpenAPM's tree_sha256, of a folder of t as it came, links
// included. dir is "." or "" for the root. Another folder than one of the tree is an error.
func Hash(t Tree, dir string) (tree string, sum objects.Digest, err error) {
	if dir == "" {
		dir = "."
	}
	sums := t.Sums
	if sums == nil {
		sums = SumsOf(t)
	}
	s, ok := sums[dir]
	if !ok {
		return "", sum, fault.New(fault.NotFound, "no folder %q there", words.Brief(dir))
	}
	return s.Tree, s.Sum, nil
}

// SumsOf computes the digests of every folder from the files and links of a tree.
func SumsOf(t Tree) map[string]Sum {
	var all []Blob
	for _, f := range t.Files {
		mode := "100644"
		if f.Executable {
			mode = "100755"
		}
		all = append(all, BlobOf(f.Path, mode, f.Data))
	}
	for _, l := range t.Links {
		if l.Module {
			all = append(all, moduleOf(l))
			continue
		}
		all = append(all, BlobOf(l.Path, "120000", []byte(l.Target)))
	}
	return SumsOfBlobs(all)
}

// Blob is one entry of a tree, other than a folder.
type Blob struct {
	Path string
	Mode string // 100644, 100755, 120000 for a link, 160000 for a commit of another repository
	ID   [sha1.Size]byte
	Sum  [sha256.Size]byte // zero for a commit, which OpenAPM leaves out
}

// BlobOf returns the entry of a file or a link.
func BlobOf(p, mode string, data []byte) Blob {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	return Blob{Path: p, Mode: mode, ID: [sha1.Size]byte(h.Sum(nil)), Sum: sha256.Sum256(data)}
}

const commitMode = "160000"

// moduleOf returns the entry of a submodule, which names a commit. An id of another length counts
// as far as it goes: no tree of git by SHA-1 has it.
func moduleOf(l Link) Blob {
	b := Blob{Path: l.Path, Mode: commitMode}
	id, _ := hex.DecodeString(l.Target)
	copy(b.ID[:], id)
	return b
}

// SumsOfBlobs computes the digests of every folder of the given entries. The rules are those of
// git's trees: the entries of a folder are sorted as if the names of folders ended in a slash.
// OpenAPM writes each as "<mode> <name> <sha256>" and a line feed.
func SumsOfBlobs(all []Blob) map[string]Sum {
	folders := map[string][]Blob{".": nil}
	for _, b := range all {
		dir := path.Dir(b.Path)
		folders[dir] = append(folders[dir], b)
		for dir != "." {
			if _, known := folders[path.Dir(dir)]; known {
				break
			}
			dir = path.Dir(dir)
			folders[dir] = nil
		}
	}
	deepest := make([]string, 0, len(folders))
	for dir := range folders {
		deepest = append(deepest, dir)
	}
	slices.SortFunc(deepest, func(a, b string) int { return cmp.Compare(depth(b), depth(a)) })
	sums := make(map[string]Sum, len(folders))
	for _, dir := range deepest {
		tree, twin := sumFolder(folders[dir])
		sums[dir] = Sum{Tree: hex.EncodeToString(tree[:]), Sum: objects.Digest(twin)}
		if dir != "." {
			up := path.Dir(dir)
			folders[up] = append(folders[up], Blob{Path: dir, Mode: "40000", ID: tree, Sum: twin})
		}
	}
	return sums
}

// depth is the number of folders above a folder, and -1 for the root.
func depth(dir string) int {
	if dir == "." {
		return -1
	}
	return strings.Count(dir, "/")
}

func sumFolder(entries []Blob) (tree [sha1.Size]byte, twin [sha256.Size]byte) {
	slices.SortFunc(entries, func(a, b Blob) int { return strings.Compare(sortName(a), sortName(b)) })
	var raw, lines []byte
	for _, e := range entries {
		name := path.Base(e.Path)
		raw = fmt.Appendf(raw, "%s %s\x00%s", e.Mode, name, e.ID[:])
		if e.Mode != commitMode {
			lines = fmt.Appendf(lines, "%06s %s %x\n", e.Mode, name, e.Sum)
		}
	}
	h := sha1.New()
	fmt.Fprintf(h, "tree %d\x00", len(raw))
	h.Write(raw)
	return [sha1.Size]byte(h.Sum(nil)), sha256.Sum256(lines)
}

func sortName(b Blob) string {
	if b.Mode == "40000" {
		return path.Base(b.Path) + "/"
	}
	return path.Base(b.Path)
}
