// Package consent decides whether a thing that no one signed may be used: a .env file, an
// interpreter that lies in a project, or the user's environment for another signer's tool.
// The user agrees to exact bytes; when they change, the user is asked again and told what
// changed. It reads no file and asks no one: it compares, and says what to ask.
//
// Agreements are kept in one file, docs/format/consent.md:
//
//	consent: 1
//	agreed:
//	  - what: env
//	    path: /home/ann/weather/.env
//	    place: ir2mox3abninco7cpxgravbxq7gajtfotuynimsuvxkgogoyvysq
//	    inode: 1835041
//	    born: 1767323045000000001
//	    sha256: <64 hex>
//	    salt: <32 hex>
//	    parts: {API_TOKEN: <16 hex>, API_URL: <16 hex>}
//
// The digests of the parts only tell which of them changed. They are salted and
// cut short, because the value of a variable may be a password.
//
// # Reasons
//
// Agreements have a file of their own. People write policy.yaml, and rye writes this one,
// per path and digest; no project has any. One agreement covers the user's own items, and
// other items need one per tool: a user who lets their own tools read .env has not given
// it to a registry's tool.
//
// An interpreter in a project is refused without an agreement, not skipped: the packages
// of .venv are missing in another Python, which would fail later with an ImportError that
// explains nothing. .env has a strict grammar, because four dialects of it differ exactly
// where a value holds a quote.
//
// An agreement holds path, inode and birth time of the directory. A note in the record
// that the directory was replaced could be lost with the next command that notes the new
// one.
package consent

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// MaxFile is the most bytes in the file of agreements.
const MaxFile = 1 << 20

// The kinds of things that a user can agree to.
const (
	Env         = "env"         // a file of variables
	Interpreter = "interpreter" // a program inside a project
	Secrets     = "secrets"     // variables of the user's environment, for one tool
	Host        = "host"        // a destination of a project's requests
	Patched     = "patched"     // an item with parts that no owner of their namespace signed
	Connect     = "connect"     // a host that one tool, as it is, connects to
)

var kinds = []string{Env, Interpreter, Secrets, Host, Patched, Connect}

// Thing is an unsigned thing in its present state.
type Thing struct {
	What string // Env, Interpreter, Secrets, Host, Patched or Connect
	Path string // absolute; for Secrets the space of the tool; for Host and Connect its name and port; for Patched the item's ref
	// For limits the agreement to one tool: for items of a registry, and for Secrets. "" is every
	// item of the user's own spaces. For Host it is the key of the project's record, "" outside
	// of projects. For Connect it is the tool's ref.
	For   string
	In    Place // the project's directory; zero for things in the user space
	Sum   objects.Digest
	Parts map[string][]byte // by name: the values of variables, the files of an interpreter, items and (empty) variables of the environment
}

// Place is the directory of a project at the time of the agreement. An agreement does not carry
// over to another directory that gets the same path later, such as a new clone.
type Place struct {
	Key   string // of its record: path, project, machine and user
	Inode uint64
	Born  int64 // nanoseconds since 1970; 0 where birth times are not kept
}

// Is reports whether both are the same directory. Without birth times only the keys are compared,
// because network and shared folders get another inode at each start.
func (p Place) Is(q Place) bool {
	return p.Key == q.Key && (p.Born == 0 || q.Born == 0 || p == q)
}

// Agreed is the content of the file. The zero value has no agreements.
type Agreed struct {
	entries []entry
}

type entry struct {
	What   string            `yaml:"what"`
	Path   string            `yaml:"path"`
	For    string            `yaml:"for,omitempty"`
	Place  string            `yaml:"place,omitempty"`
	Inode  uint64            `yaml:"inode,omitempty"`
	Born   int64             `yaml:"born,omitempty"`
	SHA256 string            `yaml:"sha256"`
	Salt   string            `yaml:"salt"`
	Parts  map[string]string `yaml:"parts,omitempty"`
}

type file struct {
	Consent int     `yaml:"consent"`
	Agreed  []entry `yaml:"agreed,omitempty"`
}

// Parse reads the file of agreements; nil has none. Errors are Malformed, or Limit for a file
// over MaxFile. On an error there are no agreements.
func Parse(raw []byte) (Agreed, error) {
	if len(raw) == 0 {
		return Agreed{}, nil
	}
	var f file
	if err := objects.DecodeYAML(raw, MaxFile, &f); err != nil {
		return Agreed{}, err
	}
	if f.Consent != 1 {
		return Agreed{}, fault.New(fault.Malformed, "consent: format %d, this version of rye reads format 1", f.Consent)
	}
	seen := map[[4]string]bool{}
	for _, e := range f.Agreed {
		_, err := objects.ParseDigest("sha256:" + e.SHA256)
		if err != nil || !slices.Contains(kinds, e.What) || e.Path == "" || len(e.Salt) != 32 ||
			e.Place == "" && e.in() != (Place{}) || e.Born < 0 || seen[e.key()] {
			return Agreed{}, fault.New(fault.Malformed, "consent: the entry for %s %q is incomplete, or is given twice", e.What, e.Path)
		}
		seen[e.key()] = true
	}
	return Agreed{f.Agreed}, nil
}

// Encode returns the text of the file, sorted.
func (a Agreed) Encode() ([]byte, error) {
	return objects.EncodeYAML(file{1, a.entries})
}

// keyOf identifies an agreement. A new one replaces the one with the same key. Connect is a thing
// of one project: the same tool in another one has an agreement of its own.
func keyOf(what, path, whose, place string) [4]string {
	if what != Connect {
		place = ""
	}
	return [4]string{what, path, whose, place}
}

func (e entry) key() [4]string { return keyOf(e.What, e.Path, e.For, e.Place) }

func (e entry) in() Place { return Place{e.Place, e.Inode, e.Born} }

func (t Thing) key() [4]string { return keyOf(t.What, t.Path, t.For, t.In.Key) }

func (a Agreed) find(t Thing) (entry, bool) {
	i := slices.IndexFunc(a.entries, func(e entry) bool { return e.key() == t.key() })
	if i < 0 {
		return entry{}, false
	}
	return a.entries[i], true
}

// Covers reports whether the user agreed to exactly these bytes, in this very directory.
func (a Agreed) Covers(t Thing) bool {
	e, ok := a.find(t)
	return ok && !t.Sum.IsZero() && e.SHA256 == t.Sum.Hex() && e.in().Is(t.In)
}

// Paths lists the paths of the agreements of a kind, in a directory, whose For is whose.
func (a Agreed) Paths(what, whose string, in Place) (all []string) {
	for _, e := range a.entries {
		if e.What == what && e.For == whose && e.in().Is(in) {
			all = append(all, e.Path)
		}
	}
	return all
}

// All lists the things of a kind, of every directory, without their parts.
func (a Agreed) All(what string) (all []Thing) {
	for _, e := range a.entries {
		if sum, err := objects.ParseDigest("sha256:" + e.SHA256); err == nil && e.What == what {
			all = append(all, Thing{What: e.What, Path: e.Path, For: e.For, In: e.in(), Sum: sum})
		}
	}
	return all
}

// Changed lists the differences from the last agreement by the names of the parts, and never by
// their values: "API_URL changed". It is empty without an earlier agreement, and without a
// difference.
func (a Agreed) Changed(t Thing) []string {
	e, ok := a.find(t)
	if !ok || a.Covers(t) {
		return nil
	}
	var out []string
	if !e.in().Is(t.In) {
		out = append(out, "the directory was replaced")
	}
	if e.SHA256 == t.Sum.Hex() {
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(t.Parts)) {
		switch was, ok := e.Parts[name]; {
		case !ok:
			out = append(out, name+" is new")
		case was != part(e.Salt, name, t.Parts[name]):
			out = append(out, name+" changed")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.Parts)) {
		if _, ok := t.Parts[name]; !ok {
			out = append(out, name+" is gone")
		}
	}
	if out == nil {
		out = []string{"only spaces, comments or the order"}
	}
	return out
}

// With returns a with the agreement to t, which replaces an older one to the same thing. salt is
// 16 random bytes.
func (a Agreed) With(t Thing, salt [16]byte) Agreed {
	e := entry{What: t.What, Path: t.Path, For: t.For, Place: t.In.Key, Inode: t.In.Inode, Born: t.In.Born, SHA256: t.Sum.Hex(), Salt: hex.EncodeToString(salt[:])}
	if len(t.Parts) > 0 {
		e.Parts = map[string]string{}
	}
	for name, v := range t.Parts {
		e.Parts[name] = part(e.Salt, name, v)
	}
	out := append(a.Without(t).entries, e)
	slices.SortFunc(out, func(x, y entry) int {
		kx, ky := x.key(), y.key()
		return slices.Compare(kx[:], ky[:])
	})
	return Agreed{out}
}

// Without returns a without its agreement to t.
func (a Agreed) Without(t Thing) Agreed {
	return Agreed{slices.DeleteFunc(slices.Clone(a.entries), func(e entry) bool { return e.key() == t.key() })}
}

func part(salt, name string, value []byte) string {
	h := sha256.New()
	h.Write([]byte(salt + "\x00" + name + "\x00"))
	h.Write(value)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Names lists the parts, sorted and joined.
func (t Thing) Names() string { return strings.Join(slices.Sorted(maps.Keys(t.Parts)), ", ") }
