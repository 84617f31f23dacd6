package objects

import (
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Kind is the kind of an item. The zero value is not a kind.
type Kind string

// The kinds of items.
const (
	Directive Kind = "directive" // a workflow that a model follows
	Tool      Kind = "tool"      // something that executes
	Knowledge Kind = "knowledge" // a text that a model should know
	Config    Kind = "config"    // data that drives rye itself
)

// Bundle is the kind of a manifest. The manifest stands for all files that it lists:
// publishing, locking and removing a bundle use this ref. Kinds does not include it,
// because no file of a space is an item of this kind.
const Bundle Kind = "bundle"

// Kinds lists every kind in the order for display.
var Kinds = []Kind{Directive, Tool, Knowledge, Config}

// Dir returns the directory below .ai that holds items of kind k.
func (k Kind) Dir() string {
	switch k {
	case Directive:
		return "directives"
	case Tool:
		return "tools"
	case Bundle:
		return BundlesDir
	}
	return string(k)
}

// ParseKind accepts the four names above and nothing else.
func ParseKind(s string) (Kind, error) {
	for _, k := range Kinds {
		if string(k) == s {
			return k, nil
		}
	}
	return "", fault.New(fault.Usage, "kind %q: want directive, tool, knowledge or config", s)
}

// ID is the path of an item below its kind's directory, without extension:
// segments of [a-z0-9_][a-z0-9_-]* joined by "/". Text from outside becomes an ID
// only through ParseID, so an ID can be joined to a path without further checks.
type ID string

// Bounds of an ID. A segment must fit a file name with an extension.
const (
	MaxIDLength   = 240 // bytes
	MaxIDSegments = 12
)

// ParseID reads an ID and refuses any other text.
func ParseID(s string) (ID, error) {
	if s == "" || len(s) > MaxIDLength || strings.Count(s, "/") >= MaxIDSegments {
		return "", fault.New(fault.Usage, "id %q: want 1 to %d segments and at most %d bytes", words.Brief(s), MaxIDSegments, MaxIDLength)
	}
	for _, seg := range strings.Split(s, "/") {
		if !validSegment(seg) {
			return "", fault.New(fault.Usage, "id %q: segment %q: want lower-case letters, digits, _ and - (not first)", words.Brief(s), words.Brief(seg))
		}
	}
	return ID(s), nil
}

func validSegment(s string) bool {
	if s == "" || len(s) > 100 || s[0] == '-' {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			continue
		}
		return false
	}
	return !deviceName(s)
}

// deviceName reports whether Windows opens s as a device, with any extension.
func deviceName(s string) bool {
	switch s {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(s) == 4 && (s[:3] == "com" || s[:3] == "lpt") && s[3] >= '1' && s[3] <= '9'
}

// Namespace returns the first segment, which has owners.
func (id ID) Namespace() string {
	ns, _, _ := strings.Cut(string(id), "/")
	return ns
}

// Name returns the last segment.
func (id ID) Name() string { return string(id)[strings.LastIndexByte(string(id), '/')+1:] }

// Category returns the path between the kind's directory and the name, "" at the root.
func (id ID) Category() string {
	if i := strings.LastIndexByte(string(id), '/'); i >= 0 {
		return string(id)[:i]
	}
	return ""
}

// Dots returns the id as capability strings spell it, with dots for slashes.
func (id ID) Dots() string { return strings.ReplaceAll(string(id), "/", ".") }

// Ref names an item without its space or version. It is comparable.
type Ref struct {
	Kind Kind
	ID   ID
}

// String returns the form that people type: "tool:acme/hello".
func (r Ref) String() string { return string(r.Kind) + ":" + string(r.ID) }

// Published returns the form that registries use: "acme/tool/hello".
// An id of one segment has no namespace to publish under and gives "".
func (r Ref) Published() string {
	ns, rest, ok := strings.Cut(string(r.ID), "/")
	if !ok {
		return ""
	}
	return ns + "/" + string(r.Kind) + "/" + rest
}

// ParseRef accepts "tool:acme/hello", "tool acme/hello" and "acme/tool/hello".
func ParseRef(s string) (Ref, error) {
	for _, sep := range []string{":", " "} {
		if k, id, ok := strings.Cut(s, sep); ok {
			return makeRef(k, id)
		}
	}
	parts := strings.SplitN(s, "/", 3)
	if len(parts) == 3 {
		if _, err := refKind(parts[1]); err == nil {
			return makeRef(parts[1], parts[0]+"/"+parts[2])
		}
	}
	return Ref{}, fault.New(fault.Usage, "ref %q: want kind:id (tool:acme/hello) or namespace/kind/name (acme/tool/hello)", words.Brief(s))
}

func makeRef(kind, id string) (Ref, error) {
	k, err := refKind(kind)
	if err != nil {
		return Ref{}, err
	}
	i, err := ParseID(id)
	if err != nil {
		return Ref{}, err
	}
	return Ref{Kind: k, ID: i}, nil
}

// refKind is ParseKind for refs, which may also name a bundle.
func refKind(s string) (Kind, error) {
	if s == string(Bundle) {
		return Bundle, nil
	}
	return ParseKind(s)
}

// Check refuses a Ref that ParseRef would not return. It catches a Ref filled in by hand
// before its id becomes a path or a capability.
func (r Ref) Check() error {
	_, err := makeRef(string(r.Kind), string(r.ID))
	return err
}

// RefOfPath returns the ref and the extension (with its dot) of a slash path
// below .ai, such as "tools/acme/hello.py".
func RefOfPath(path string) (Ref, string, error) {
	if strings.HasPrefix(path, BundlesDir+"/") {
		return memberRef(path)
	}
	for _, k := range Kinds {
		if rest, ok := strings.CutPrefix(path, k.Dir()+"/"); ok {
			return refBelow(k, rest, path)
		}
	}
	return Ref{}, "", fault.New(fault.Usage, "path %q: not below directives/, tools/, knowledge/, config/ or bundles/", words.Brief(path))
}

// refBelow returns the ref and the extension of a file at rest below its kind's directory.
func refBelow(k Kind, rest, path string) (Ref, string, error) {
	dot := strings.LastIndexByte(rest, '.')
	if dot < strings.LastIndexByte(rest, '/') || dot <= 0 {
		return Ref{}, "", fault.New(fault.Usage, "path %q: an item's file needs an extension", words.Brief(path))
	}
	id, err := ParseID(rest[:dot])
	if err != nil {
		return Ref{}, "", err
	}
	return Ref{Kind: k, ID: id}, rest[dot:], nil
}

// Path returns the slash path below .ai of an item with extension ext (".py").
func (r Ref) Path(ext string) string { return r.Kind.Dir() + "/" + string(r.ID) + ext }

// Space is a layer that items are resolved through. Higher values win.
// The zero value is no space.
type Space uint8

// The spaces, lowest first.
const (
	System  Space = 1 // compiled into the program
	User    Space = 2
	Project Space = 3
)

var spaceNames = map[Space]string{System: "system", User: "user", Project: "project"}

// String returns "system", "user", "project", or "no space" for the zero value.
func (s Space) String() string {
	if n, ok := spaceNames[s]; ok {
		return n
	}
	return "no space"
}

// ParseSpace is the inverse of String for the three spaces.
func ParseSpace(name string) (Space, error) {
	for s, n := range spaceNames {
		if n == name {
			return s, nil
		}
	}
	return 0, fault.New(fault.Usage, "space %q: want project, user or system", words.Brief(name))
}
