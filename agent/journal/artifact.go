package journal

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
)

// moved is the end of a member's name whose value is in an artifact.
const moved = "_artifact"

// Artifact names a file of a thread. It holds the text of a member, or its JSON.
type Artifact struct {
	SHA256 string `json:"sha256"` // 64 hexadecimal digits; the file's name
	Bytes  int64  `json:"bytes"`
}

func parseArtifact(b []byte) (a Artifact, err error) {
	if err := json.Unmarshal(b, &a); err != nil || a.Bytes < 0 || len(a.SHA256) != 64 || !lowerHex(a.SHA256) || string(a.encode()) != string(b) {
		return a, malformed("%.200q is not an artifact", b)
	}
	return a, nil
}

func (a Artifact) encode() []byte {
	return fmt.Appendf(nil, `{"sha256":"%s","bytes":%d}`, a.SHA256, a.Bytes)
}

// Keep stores the bytes of r, at most limit of them (fault.Limit), in a file of the thread. The
// file is on the disk when Keep returns. Equal bytes share one file. Memory does not grow with
// their number. A record refers to the file by a member <name>_artifact. Safe for concurrent use.
func (j *Journal) Keep(r io.Reader, limit int64) (Artifact, error) {
	root, err := openSub(j.Dir(), artifactsDir)
	if err != nil {
		return Artifact{}, err
	}
	defer root.Close()
	tmp := tempName + rand.Text()
	a, err := keepAs(root, tmp, r, limit)
	if err == nil {
		err = root.Rename(tmp, a.SHA256)
	}
	if err != nil {
		root.Remove(tmp)
		return Artifact{}, fault.Wrap(err, "keep an artifact in %s", j.Dir())
	}
	return a, syncRoot(root)
}

func keepAs(root *os.Root, name string, r io.Reader, limit int64) (Artifact, error) {
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return Artifact{}, err
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, h), io.LimitReader(r, limit))
	if err == nil && n == limit {
		if more, _ := io.ReadFull(r, make([]byte, 1)); more > 0 {
			err = fault.New(fault.Limit, "it is larger than %d bytes", limit)
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return Artifact{hexOf(h.Sum(nil)), n}, err
}

// ReadArtifact returns the bytes of an artifact of the thread in dir, verified. An artifact of more
// than limit bytes is fault.Limit; bytes that do not match the digest are fault.Integrity.
func ReadArtifact(dir string, a Artifact, limit int64) ([]byte, error) {
	if _, err := parseArtifact(a.encode()); err != nil {
		return nil, err
	}
	if a.Bytes > limit {
		return nil, fault.New(fault.Limit, "artifact %s has %d bytes, at most %d are read", a.SHA256, a.Bytes, limit)
	}
	root, err := openSub(dir, artifactsDir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := openPlain(root, a.SHA256, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, a.Bytes+1))
	if err != nil {
		return nil, fault.New(fault.Failed, "read artifact %s: %w", a.SHA256, err)
	}
	if sum := sha256.Sum256(raw); hexOf(sum[:]) != a.SHA256 || int64(len(raw)) != a.Bytes {
		return nil, fault.New(fault.Integrity, "%s does not match its name, a SHA-256", filepath.Join(dir, artifactsDir, a.SHA256))
	}
	return raw, nil
}

// Payload is the members of a record, from its line and from artifacts.
type Payload struct {
	dir string
	r   Record
	all []member
}

// Members parses the payload of a record of the thread in dir, once for all members.
func Members(dir string, r Record) (Payload, error) {
	all, err := members(r.Data)
	return Payload{dir, r, all}, err
}

// Value returns the bytes of a text member, and the JSON of any other. A missing member is
// fault.NotFound; a member in an artifact of more than limit bytes is fault.Limit.
func (p Payload) Value(name string, limit int64) ([]byte, error) {
	for _, m := range p.all {
		switch {
		case m.name == name:
			return m.content()
		case strings.HasSuffix(m.name, moved) && m.name == name+moved && typeOf(p.r.Type).members[name].big:
			a, err := parseArtifact(m.value)
			if err != nil {
				return nil, err
			}
			return ReadArtifact(p.dir, a, limit)
		}
	}
	return nil, fault.New(fault.NotFound, "record %d of type %s has no %s", p.r.Seq, p.r.Type, name)
}

// JSON returns a member as JSON, also a text. It fails as Value does.
func (p Payload) JSON(name string, limit int64) (json.RawMessage, error) {
	for _, m := range p.all {
		if m.name == name {
			return json.RawMessage(m.value), nil
		}
	}
	raw, err := p.Value(name, limit)
	if err == nil && typeOf(p.r.Type).members[name].kind == 's' {
		raw, err = json.Marshal(string(raw))
	}
	return raw, err
}

// content returns the bytes that an artifact would hold: the text, or the JSON.
func (m member) content() ([]byte, error) {
	if m.kind != 's' {
		return slices.Clone(m.value), nil
	}
	var s string
	if err := json.Unmarshal(m.value, &s); err != nil {
		return nil, malformed("the member %s: %w", m.name, err)
	}
	return []byte(s), nil
}

// fit checks a payload, and moves members into artifacts, the largest first, until the payload is
// small enough for a record.
func (j *Journal) fit(r Record) (json.RawMessage, error) {
	k := typeOf(r.Type)
	if !k.known || k.live {
		return nil, fault.New(fault.Malformed, "append to a journal: the journal takes no records of type %q", r.Type)
	}
	data, all, err := payload(r.Data)
	if err != nil {
		return nil, fault.Wrap(err, "the payload of a record of type %s", r.Type)
	}
	if err := k.check(r.Type, all); err != nil || len(data) <= MaxInline {
		return data, err
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(all[b].value) - len(all[a].value) })
	size := len(data)
	for _, i := range order {
		if m := all[i]; size > MaxInline && k.members[m.name].big && len(m.value) > 256 {
			if all[i], err = j.move(m); err != nil {
				return nil, err
			}
			size += len(all[i].value) + len(moved) - len(m.value)
		}
	}
	return join(all), nil
}

// move stores the value of a member in an artifact, and returns the member that replaces it.
func (j *Journal) move(m member) (member, error) {
	content, err := m.content()
	if err != nil {
		return member{}, err
	}
	a, err := j.Keep(strings.NewReader(string(content)), int64(len(content)))
	if err != nil {
		return member{}, err
	}
	return member{m.name + moved, 'o', a.encode()}, nil
}

// join writes members as an object.
func join(all []member) json.RawMessage {
	b := []byte{'{'}
	for i, m := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), m.name...), `":`...)
		b = append(b, m.value...)
	}
	return append(b, '}')
}
