package registry

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
)

// What was verified is what is published. When a file was changed between the two, nothing is
// published, and the log stays where it was.
func TestChangedWhilePublished(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	m := w.machine(t)
	before := w.publish(m, w.ada, "acme/knowledge/first@1.0.0").Tip
	another := verified(t, w.ada, "acme/knowledge/a", "1.0.0", "texT").Item().Raw // as long, and signed as well
	one := func() *Item { return item(t, verified(t, w.ada, "acme/knowledge/a", "1.0.0", "text"), oplog.Meta{}) }
	kit := func() *Item { return kitItem(t, w.ada, "1.0.0", kitFiles()) }
	for _, c := range []struct {
		name   string
		of     *Item
		file   string // that changes
		change func([]byte) ([]byte, error)
		want   fault.Code
	}{
		{"another text", one(), "a.md", func([]byte) ([]byte, error) { return another, nil }, fault.Integrity},
		{"a byte more", one(), "a.md", func(b []byte) ([]byte, error) { return append(bytes.Clone(b), '\n'), nil }, fault.Integrity},
		{"emptied", one(), "a.md", func([]byte) ([]byte, error) { return nil, nil }, fault.Integrity},
		{"gone", one(), "a.md", func([]byte) ([]byte, error) { return nil, fs.ErrNotExist }, fault.Failed},
		{"another manifest", kit(), objects.ManifestName, func([]byte) ([]byte, error) { return another, nil }, fault.Integrity},
		{"a file of a package", kit(), "run.sh", func(b []byte) ([]byte, error) { return append(bytes.Clone(b), '\n'), nil }, fault.Integrity},
		{"a file of a package, gone", kit(), "c.txt", func([]byte) ([]byte, error) { return nil, fs.ErrNotExist }, fault.Failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			read, changed := c.of.read, false
			c.of.read = func(p string) ([]byte, error) {
				raw, err := read(p)
				if err == nil && path.Base(p) == c.file {
					changed = true
					return c.change(raw)
				}
				return raw, err
			}
			p := publication(t, w.ada, "acme/knowledge/beside@1.0.0")
			p.Items = append(p.Items, c.of)
			_, err := m.Publish(w.ctx, p)
			if wantCode(t, err, c.want); !changed {
				t.Errorf("%s was not read: nothing is shown", c.file)
			}
			if name := string(c.of.entry.Ref.ID); !strings.Contains(fmt.Sprint(err), name) {
				t.Errorf("%v: does not name %s", err, name)
			}
			w.sync(m, "acme")
			s, err := m.View("acme")
			if err != nil || s.Point() != before {
				t.Errorf("the log stands at %+v, %v; want %+v", s.Point(), err, before)
			}
		})
	}
	if got := w.publish(m, w.ada, "acme/knowledge/a@1.0.0=texT"); len(got.Published) != 1 {
		t.Errorf("published afterwards: %+v", got)
	}
}

// An item to be published keeps none of its bytes: a namespace of ten thousand fits.
func TestItemKeepsNoBytes(t *testing.T) {
	v := verified(t, newKey("ada"), "acme/knowledge/a", "1.0.0", strings.Repeat("text ", 1000))
	parsed, raw := weak.Make(v.Item()), weak.Make(&v.Item().Raw[0])
	meta := oplog.Meta{Description: v.Item().Meta.Description}
	it, err := NewItem(v, meta, func(string) ([]byte, error) { return nil, fs.ErrNotExist })
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GC(); parsed.Value() == nil || raw.Value() == nil {
		t.Fatal("what is in use was collected: nothing is shown")
	}
	runtime.KeepAlive(v)
	runtime.GC()
	if parsed.Value() != nil || raw.Value() != nil {
		t.Errorf("kept: what was parsed %t, the bytes %t", parsed.Value() != nil, raw.Value() != nil)
	}
	runtime.KeepAlive(it)
}
