package lockfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"

	"github.com/rye-os/rye/objects"
)

// Rule is the way in which a lock file's hash is computed. Its value is the name of the field.
type Rule string

// The rules.
const (
	ComputedHash    Rule = "computedHash"    // vercel's skills: over path and content of each file
	SkillFolderHash Rule = "skillFolderHash" // vercel's skills: the id of the git tree
	WellKnownDigest Rule = "wellKnownDigest" // vercel's skills: of the file that a site served
	ContentHash     Rule = "content_hash"    // APM: over path and content of each file
	TreeSHA256      Rule = "tree_sha256"     // OpenAPM, req-lk-015
	ContentDigest   Rule = "contentDigest"   // ToolHive
)

// Sum is a hash in a lock file, as it is written there.
type Sum struct {
	Rule  Rule
	Value string
}

// File is a regular file, by its slash path below the folder.
type File struct {
	Path string
	Data []byte
}

// Folder is the content of an entry as it was fetched.
type Folder struct {
	Files    []File
	Links    []File         // symbolic links, with their targets as Data
	Tree     string         // the id of its git tree
	Sum      objects.Digest // OpenAPM's tree_sha256
	Artifact string         // sha256:<hex> of the file that a site served; "" for none
}

// Outcome is the comparison of a hash with a folder.
type Outcome struct {
	Sum
	Found string // the hash of the folder by the rule
	Same  bool
	Note  string // how it is the same, where the rule leaves a choice; "" for plainly
}

// Check compares a hash with a folder.
func (s Sum) Check(f Folder) Outcome {
	o := Outcome{Sum: s}
	for i, v := range s.variants() {
		got := v.of(f)
		if i == 0 {
			o.Found = got
		}
		if got != "" && got == s.Value {
			o.Found, o.Same, o.Note = got, true, v.note
			return o
		}
	}
	return o
}

// variant is one reading of a rule.
type variant struct {
	of   func(Folder) string
	note string
}

const withCRLF = "the lock was made from a checkout with CRLF line ends"

func (s Sum) variants() []variant {
	switch s.Rule {
	case SkillFolderHash:
		return []variant{{of: func(f Folder) string { return f.Tree }}}
	case WellKnownDigest:
		return []variant{{of: served}}
	case TreeSHA256:
		return []variant{{of: func(f Folder) string { return "sha256:" + f.Sum.Hex() }}}
	case ContentHash:
		return []variant{{of: contentHash}, {func(f Folder) string { return contentHash(crlf(f)) }, withCRLF}}
	case ContentDigest:
		return []variant{{of: topDigest}, {of: contentDigest}, {func(f Folder) string { return topDigest(crlf(f)) }, withCRLF}}
	case ComputedHash:
		return []variant{{of: computedHash}, {of: snapshotHash},
			{func(f Folder) string { return computedHash(crlf(f)) }, withCRLF}}
	}
	return nil
}

// computedHash is the rule of vercel's skills for a folder on the disk: the regular files, without
// those below .git and node_modules, in the order of JavaScript's localeCompare; the path and the
// content of each, one after the other and without separators.
func computedHash(f Folder) string {
	return joined(f, func(parts []string) bool {
		return slices.Contains(parts[:len(parts)-1], ".git") || slices.Contains(parts[:len(parts)-1], "node_modules")
	}, collate)
}

// snapshotHash is the rule of vercel's skills for files that its own service delivered. They lack
// what an installation leaves out.
func snapshotHash(f Folder) string {
	return joined(f, func(parts []string) bool {
		return parts[len(parts)-1] == "metadata.json" || slices.ContainsFunc(parts[:len(parts)-1], func(p string) bool {
			return p == ".git" || p == "node_modules" || p == "__pycache__" || p == "__pypackages__"
		})
	}, collate)
}

// contentHash is the rule of APM: as computedHash, but in the order of code points, without
// __pycache__, and without the marker that APM itself puts at the top.
func contentHash(f Folder) string {
	return "sha256:" + joined(f, func(parts []string) bool {
		return len(parts) == 1 && parts[0] == ".apm-pin" || slices.Contains(parts, ".git") || slices.Contains(parts, "__pycache__")
	}, strings.Compare)
}

// joined hashes path and content of each file, without separators.
func joined(f Folder, skip func(parts []string) bool, order func(a, b string) int) string {
	files := slices.DeleteFunc(slices.Clone(f.Files), func(f File) bool { return skip(strings.Split(f.Path, "/")) })
	slices.SortStableFunc(files, func(a, b File) int { return order(a.Path, b.Path) })
	h := sha256.New()
	for _, f := range files {
		h.Write([]byte(f.Path))
		h.Write(f.Data)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// contentDigest is the rule of ToolHive: path, NUL, the SHA-256 of the content and a line feed for
// each regular file, in the order of bytes.
func contentDigest(f Folder) string {
	files := slices.Clone(f.Files)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	h := sha256.New()
	for _, f := range files {
		sum := sha256.Sum256(f.Data)
		h.Write([]byte(f.Path + "\x00"))
		h.Write(sum[:])
		h.Write([]byte{'\n'})
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// topDigest is contentDigest over what ToolHive takes from a repository: the files at the top of
// the folder, links as their texts. The locked commit binds the others.
func topDigest(f Folder) string {
	var top []File
	for _, f := range slices.Concat(f.Files, f.Links) {
		if path.Dir(f.Path) == "." {
			top = append(top, f)
		}
	}
	return contentDigest(Folder{Files: top})
}

// served is the digest of what a site delivered. Where its index has none, vercel's skills hashes
// the files: path, NUL, content, NUL, in the order of UTF-16 units.
func served(f Folder) string {
	if f.Artifact != "" {
		return f.Artifact
	}
	files := slices.Clone(f.Files)
	slices.SortFunc(files, func(a, b File) int { return slices.Compare(units(a.Path), units(b.Path)) })
	h := sha256.New()
	for _, f := range files {
		h.Write([]byte(f.Path + "\x00"))
		h.Write(f.Data)
		h.Write([]byte{0})
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// crlf returns the folder as git checks it out with core.autocrlf: the texts with CRLF line ends.
func crlf(f Folder) Folder {
	files := make([]File, len(f.Files))
	for i, file := range f.Files {
		files[i] = file
		if !bytes.ContainsRune(file.Data, 0) && !bytes.Contains(file.Data, []byte("\r")) {
			files[i].Data = bytes.ReplaceAll(file.Data, []byte("\n"), []byte("\r\n"))
		}
	}
	f.Files = files
	return f
}
