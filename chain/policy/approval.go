package policy

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/rye-os/rye/chain/command"
	"github.com/rye-os/rye/chain/consent"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Subject identifies a run: everything that would run, its parameters, and its directory. No
// approval covers the zero Subject.
type Subject struct {
	Plan   objects.Digest // of every link, every file that it can load, and the interpreter
	Params objects.Digest // of the parameters, defaults filled in
	In     consent.Place  // the project's directory; zero outside of one
}

// Approval is a remembered "yes" for exactly one plan, in one directory.
type Approval struct {
	Ref    objects.Ref
	Plan   objects.Digest
	In     consent.Place
	Params objects.Digest // that it covers; zero with Any
	Any    bool           // it covers any parameters
	Tier   command.Tier   // the highest tier that it covers
}

type approvalFile struct {
	Ref    string       `yaml:"ref"`
	Plan   string       `yaml:"plan"`
	Place  string       `yaml:"place,omitempty"`
	Inode  uint64       `yaml:"inode,omitempty"`
	Born   int64        `yaml:"born,omitempty"`
	Params string       `yaml:"params"` // a digest, or any
	Tier   command.Tier `yaml:"tier"`
}

const anyParams = "any"

func (a Approval) file() approvalFile {
	f := approvalFile{Ref: a.Ref.String(), Plan: a.Plan.Hex(), Place: a.In.Key, Inode: a.In.Inode, Born: a.In.Born, Params: anyParams, Tier: a.Tier}
	if !a.Any {
		f.Params = a.Params.Hex()
	}
	return f
}

// line returns the entry as one line of policy.yaml.
func (f approvalFile) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  - {ref: '%s', plan: %s", f.Ref, f.Plan)
	if f.Place != "" {
		fmt.Fprintf(&b, ", place: %s, inode: %d, born: %d", f.Place, f.Inode, f.Born)
	}
	fmt.Fprintf(&b, ", params: %s, tier: %s}\n", f.Params, f.Tier)
	return b.String()
}

func (f approvalFile) read() (a Approval, err error) {
	a.In, a.Any, a.Tier = consent.Place{Key: f.Place, Inode: f.Inode, Born: f.Born}, f.Params == anyParams, f.Tier
	if a.Ref, err = objects.ParseRef(f.Ref); err != nil {
		return a, err
	}
	if a.Plan, err = objects.ParseDigest("sha256:" + f.Plan); err != nil {
		return a, fault.Wrap(err, "policy: allowed %s: plan", a.Ref)
	}
	if !a.Any {
		if a.Params, err = objects.ParseDigest("sha256:" + f.Params); err != nil {
			return a, fault.Wrap(err, "policy: allowed %s: params", a.Ref)
		}
	}
	if a.Plan.IsZero() || a.Tier >= command.T4 || f.Born < 0 || f.Place == "" && a.In != (consent.Place{}) {
		return a, fault.New(fault.Malformed, "policy: the entry of allowed for %s is incomplete", a.Ref)
	}
	return a, nil
}

func (f *file) approvals(r *Rules) error {
	for _, one := range f.Allowed {
		a, err := one.read()
		if err != nil {
			return err
		}
		if slices.ContainsFunc(r.Allowed, a.replaces) {
			return fault.New(fault.Malformed, "policy: allowed has the same entry for %s twice", a.Ref)
		}
		r.Allowed = append(r.Allowed, a)
	}
	return nil
}

// replaces reports whether a replaces o: the same item in the same directory, with the same
// parameters.
func (a Approval) replaces(o Approval) bool {
	return a.Ref == o.Ref && a.In.Key == o.In.Key && a.Any == o.Any && a.Params == o.Params
}

// Remember returns the text of a user's policy file with one more approval. It replaces an older
// approval of the same item, directory and parameters. Everything else stays the same.
func Remember(raw []byte, a Approval) ([]byte, error) {
	if a.Tier >= command.T4 {
		return nil, fault.New(fault.Denied, "approve %s: %s cannot be allowed", a.Ref, a.Tier)
	}
	return change(raw, func(all []Approval) []Approval {
		return append(slices.DeleteFunc(all, a.replaces), a)
	})
}

// Forget returns the text of a user's policy file without the approvals for which drop returns
// true. Everything else stays the same.
func Forget(raw []byte, drop func(Approval) bool) ([]byte, error) {
	return change(raw, func(all []Approval) []Approval { return slices.DeleteFunc(all, drop) })
}

// change rewrites the list of approvals, and keeps the rest of the user's text, with its
// comments. If the list cannot be cut out, change writes the whole file again, and comments are
// lost.
func change(raw []byte, with func([]Approval) []Approval) ([]byte, error) {
	f, err := decode(raw)
	if err != nil {
		return nil, err
	}
	if f == nil {
		f, raw = &file{Policy: 1}, []byte("policy: 1\n")
	}
	var r Rules
	if err := f.approvals(&r); err != nil {
		return nil, err
	}
	f.Allowed = nil
	for _, a := range with(r.Allowed) {
		f.Allowed = append(f.Allowed, a.file())
	}
	slices.SortStableFunc(f.Allowed, func(a, b approvalFile) int {
		return cmp.Or(strings.Compare(a.Ref, b.Ref), strings.Compare(a.Place, b.Place), strings.Compare(a.Params, b.Params))
	})
	text := splice(raw, "allowed:", func(out *bytes.Buffer, after []byte) { write(out, f.Allowed, after) })
	if again, err := decode(text); err == nil && reflect.DeepEqual(again, f) {
		return text, nil
	}
	return objects.EncodeYAML(f)
}

// splice replaces the block that begins with a line such as "allowed:" by the output of put.
// Without such a block, the output goes to the end. Comments in the block stay, below the output.
func splice(raw []byte, head string, put func(out *bytes.Buffer, after []byte)) []byte {
	var out bytes.Buffer
	in, done := false, false
	for line := range bytes.Lines(raw) {
		after, begins := bytes.CutPrefix(line, []byte(head))
		switch {
		case begins && !done:
			in, done = true, true
			put(&out, after)
		case !in || comment(line):
			out.Write(line)
		case line[0] != ' ' && line[0] != '-':
			in = false
			out.Write(line)
		}
	}
	if !done {
		if n := out.Len(); n > 0 && out.Bytes()[n-1] != '\n' {
			out.WriteByte('\n')
		}
		put(&out, nil)
	}
	return out.Bytes()
}

// write writes the block of approvals, with the comment that followed its first word.
func write(out *bytes.Buffer, list []approvalFile, after []byte) {
	note := noteIn(after)
	switch {
	case len(list) > 0:
		out.WriteString("allowed:" + note + "\n")
	case note != "":
		out.WriteString(note[1:] + "\n")
	}
	for _, one := range list {
		out.WriteString(one.line())
	}
}

// noteIn returns the comment in a line, with a blank before it.
func noteIn(line []byte) string {
	if i := bytes.Index(line, []byte(" #")); i >= 0 {
		return " " + string(bytes.TrimSpace(line[i:]))
	}
	return ""
}

// comment reports whether a line is empty or a comment.
func comment(line []byte) bool {
	text := bytes.TrimSpace(line)
	return len(text) == 0 || text[0] == '#'
}
