// Package discovery reads and writes the index of skills that a site publishes, by Agent Skills
// discovery 0.2.0, and reads the older 0.1.0. It is pure: the caller fetches what an index names.
// docs/format/discovery.md is normative for both directions.
//
// # Reasons
//
// An index is a list of claims by a site. An entry that breaks the rules is passed over with its
// reason and stops no other entry. Two entries with one name are both passed over, because a reader
// that takes one of them has guessed. Only an index that no reader of today can understand is
// refused as a whole: one with an unknown $schema.
//
// The digest of an entry is over the bytes that the site serves, so it is compared before anything
// unpacks them. It is no signature: whoever can change the artifact can change the index.
package discovery

import (
	"encoding/json"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/strict"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// Schema is the $schema of discovery 0.2.0. Nobody fetches it.
const Schema = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"

// Limits.
const (
	MaxIndex     = 4 << 20  // bytes of an index
	MaxSkills    = 5000     // entries of an index
	MaxArtifact  = 50 << 20 // bytes of an artifact as it is served
	MaxUnpacked  = 25 << 20 // bytes of the files of one skill
	MaxFiles     = 1000     // files of one skill
	maxReference = 2048     // bytes of a URL
)

// The types of artifacts.
const (
	TypeSkill   = "skill-md" // a SKILL.md
	TypeArchive = "archive"  // a .tar.gz or .zip with SKILL.md at its top
	TypeFiles   = "files"    // the files of discovery 0.1.0, each at its own URL, without digests
)

// Index is the index of a site.
type Index struct {
	Version string // "0.2.0" or "0.1.0"
	Skills  []Skill
	Passed  []Passed
}

// Skill is one entry that can be fetched.
type Skill struct {
	Name        string // by the rules of Agent Skills
	Description string
	Type        string
	URL         string         // of the artifact, absolute; "" for TypeFiles
	Digest      objects.Digest // of the artifact; zero for TypeFiles
	Files       []FileURL      // of TypeFiles
}

// FileURL is one file of an entry of discovery 0.1.0.
type FileURL struct {
	Path string // below the skill
	URL  string
}

// Passed is an entry that is skipped.
type Passed struct {
	Name string // as it stands there; may be anything
	Why  string
	Code fault.Code // "" for one that need not come in
}

// Parse reads the index that was served at a URL. Errors are Malformed and Limit.
func Parse(raw []byte, at string) (*Index, error) {
	base, err := url.Parse(at)
	if err != nil || base.Host == "" {
		return nil, fault.New(fault.Usage, "%s is no URL of an index", words.Quote(words.Brief(at)))
	}
	v, err := strict.Value(raw, MaxIndex)
	if err != nil {
		return nil, err
	}
	top, ok := v.(map[string]any)
	if !ok {
		return nil, fault.New(fault.Malformed, "an index of skills is an object")
	}
	read := reader(first)
	ix := &Index{Version: "0.1.0"}
	switch schema, there := top["$schema"]; {
	case there && schema == Schema:
		read, ix.Version = second, "0.2.0"
	case there:
		return nil, unknownSchema(schema)
	case top["version"] != nil && top["version"] != "0.1.0":
		return nil, unknownSchema(top["version"])
	}
	all, ok := top["skills"].([]any)
	if !ok {
		return nil, fault.New(fault.Malformed, "the index has no list of skills")
	}
	if len(all) > MaxSkills {
		return nil, fault.New(fault.Limit, "an index of %d skills: at most %d are read", len(all), MaxSkills)
	}
	count := map[string]int{}
	for _, item := range all {
		if m, ok := item.(map[string]any); ok {
			if name, ok := m["name"].(string); ok {
				count[name]++
			}
		}
	}
	for _, item := range all {
		s, pass := entry(item, base, read, count)
		if pass != nil {
			ix.Passed = append(ix.Passed, *pass)
			continue
		}
		ix.Skills = append(ix.Skills, s)
	}
	return ix, nil
}

func unknownSchema(v any) error {
	text, _ := v.(string)
	return fault.New(fault.Malformed, "the index has the schema %s, and this rye reads discovery 0.2.0 and 0.1.0", words.Quote(words.Brief(text))).Advise("install a newer rye")
}

// entry reads one entry.
func entry(item any, base *url.URL, read reader, count map[string]int) (s Skill, pass *Passed) {
	m, _ := item.(map[string]any)
	s.Name, _ = m["name"].(string)
	refuse := func(why string, code fault.Code) (Skill, *Passed) {
		return Skill{}, &Passed{Name: s.Name, Why: why, Code: code}
	}
	if !ValidName(s.Name) {
		return refuse("its name is none by the rules of Agent Skills", fault.Malformed)
	}
	if count[s.Name] > 1 {
		return refuse("the index has more than one skill of this name", fault.Conflict)
	}
	s.Description, _ = m["description"].(string)
	if why, code := read(m, base, &s); why != "" {
		return refuse(why, code)
	}
	return s, nil
}

// reader reads the fields of an entry in one version of the format. It returns why the entry is
// skipped, and a code unless it need not come in.
type reader func(m map[string]any, base *url.URL, s *Skill) (why string, code fault.Code)

// second reads the fields of an entry of 0.2.0.
func second(m map[string]any, base *url.URL, s *Skill) (string, fault.Code) {
	s.Type, _ = m["type"].(string)
	switch {
	case s.Type == "":
		return "it has no type", fault.Malformed
	case s.Type != TypeSkill && s.Type != TypeArchive:
		return "its type " + words.Quote(words.Brief(s.Type)) + " is unknown to this rye", ""
	}
	ref, _ := m["url"].(string)
	digest, _ := m["digest"].(string)
	sum, err := objects.ParseDigest(digest)
	if err != nil {
		return "its digest is not sha256:<64 hex digits>", fault.Malformed
	}
	s.Digest = sum
	var why string
	s.URL, why = Resolve(base, ref)
	return why, fault.Malformed
}

// first reads the fields of an entry of 0.1.0.
func first(m map[string]any, base *url.URL, s *Skill) (string, fault.Code) {
	files, ok := m["files"].([]any)
	if !ok {
		return "it has no list of files", fault.Malformed
	}
	if len(files) > MaxFiles {
		return "it has too many files", fault.Limit
	}
	s.Type = TypeFiles
	seen := map[string]bool{}
	for _, f := range files {
		p, _ := f.(string)
		if !plainPath(p) {
			return "the path " + words.Quote(words.Brief(p)) + " cannot be fetched", fault.Malformed
		}
		if seen[strings.ToLower(p)] {
			return "the path " + words.Quote(words.Brief(p)) + " occurs twice", fault.Malformed
		}
		seen[strings.ToLower(p)] = true
		u := *base
		u.RawQuery, u.Fragment = "", ""
		u = *u.JoinPath("..", s.Name, p)
		s.Files = append(s.Files, FileURL{Path: p, URL: u.String()})
	}
	if !slices.ContainsFunc(s.Files, func(f FileURL) bool { return f.Path == objects.SkillFile }) {
		return "its list of files lacks SKILL.md", fault.Malformed
	}
	return "", ""
}

// plainPath reports whether a path of 0.1.0 is below its skill and means the same in a URL and on a
// disk.
func plainPath(p string) bool {
	if p == "" || len(p) > 1024 || path.Clean(p) != p || path.IsAbs(p) || p == "." || p == ".." || strings.HasPrefix(p, "../") {
		return false
	}
	return !strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`\?#[]%`, r) })
}

// Resolve returns the absolute URL of a reference in an index, by RFC 3986, or why it is refused.
func Resolve(base *url.URL, ref string) (abs, why string) {
	if ref == "" || len(ref) > maxReference || !utf8.ValidString(ref) ||
		strings.ContainsFunc(ref, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return "", "its url is empty, too long or holds a blank, a backslash or a control character"
	}
	r, err := url.Parse(ref)
	if err != nil {
		return "", "its url cannot be read"
	}
	u := base.ResolveReference(r)
	u.Fragment, u.RawFragment = "", ""
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return "", "the scheme " + words.Quote(words.Brief(u.Scheme)) + " of its url is not https"
	case u.User != nil:
		return "", "its url has credentials in it"
	case u.Host == "" || u.Opaque != "":
		return "", "its url has no host"
	case base.Scheme == "https" && u.Scheme != "https":
		return "", "its url leads from https to http"
	}
	return u.String(), ""
}

// ValidName reports whether a name is one by the rules of Agent Skills: 1 to 64 of a-z, 0-9 and
// hyphens, none of them first, last or double.
func ValidName(s string) bool {
	if len(s) < 1 || len(s) > 64 || s[0] == '-' || s[len(s)-1] == '-' || strings.Contains(s, "--") {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// Entry is one line of an index that rye writes.
type Entry struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Description string `json:"description"`
	URL         string `json:"url"`
	Digest      string `json:"digest"`
}

// Encode writes an index of 0.2.0. The entries are sorted by name.
func Encode(entries []Entry) ([]byte, error) {
	all := slices.Clone(entries)
	slices.SortFunc(all, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	if all == nil {
		all = []Entry{}
	}
	raw, err := json.MarshalIndent(struct {
		Schema string  `json:"$schema"`
		Skills []Entry `json:"skills"`
	}{Schema, all}, "", "  ")
	return append(raw, '\n'), err
}

// Own reads an index that rye wrote. ok is false for any other text, also for an index with fields
// of another writer, which rye would lose.
func Own(raw []byte) (entries []Entry, ok bool) {
	if len(raw) > MaxIndex {
		return nil, false
	}
	var doc struct {
		Schema string  `json:"$schema"`
		Skills []Entry `json:"skills"`
	}
	if strict.Decode(raw, MaxIndex, &doc) != nil || doc.Schema != Schema {
		return nil, false
	}
	again, err := Encode(doc.Skills)
	return doc.Skills, err == nil && string(again) == string(raw)
}
