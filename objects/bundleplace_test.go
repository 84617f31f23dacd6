package objects_test

import (
	"testing"

	"github.com/rye-os/rye/objects"
)

func TestBundlePlace(t *testing.T) {
	for _, c := range []struct{ dir, id string }{
		{"bundles/acme/report", "acme/bundle/report"},
		{"bundles/acme/tools", "acme/bundle/tools"},
		{"tools/acme/knowledge/x", "acme/bundle/tools/knowledge/x"},
		{"tools/acme/report", "acme/bundle/tools/report"},
		{"tools/acme/report/lib", "acme/bundle/tools/report/lib"},
		{"knowledge/acme/guide", "acme/bundle/knowledge/guide"},
		{"directives/acme/a/b", "acme/bundle/directives/a/b"},
		{"config/acme/x", "acme/bundle/config/x"},
		{"tools/acme/bundle/x", "acme/bundle/tools/bundle/x"},
	} {
		id, err := objects.BundleID(c.dir)
		if err != nil || string(id) != c.id {
			t.Errorf("BundleID(%q) = %q, %v, want %q", c.dir, id, err, c.id)
		}
		if dir, err := objects.BundleDir(id); err != nil || dir != c.dir {
			t.Errorf("BundleDir(%q) = %q, %v, want %q", id, dir, err, c.dir)
		}
	}
	for _, dir := range []string{"", ".", "tools", "tools/acme", "acme/report", "tools/acme/", "bundles/acme", "bundles/acme/report/lib",
		"tools/Acme/x", "tools/acme/x.y", "tools/acme/../x", "../tools/acme/x", "tools//acme/x"} {
		if id, err := objects.BundleID(dir); err == nil {
			t.Errorf("BundleID(%q) = %q, want an error", dir, id)
		}
	}
	for _, id := range []objects.ID{"acme", "acme/bundle", "acme/report", "acme/bundle/report/lib"} {
		if dir, err := objects.BundleDir(id); err == nil {
			t.Errorf("BundleDir(%q) = %q, want an error", id, dir)
		}
	}
}

// FuzzBundlePlace: an id means one directory, and a directory one id.
func FuzzBundlePlace(f *testing.F) {
	f.Add("tools/acme/report")
	f.Add("knowledge/acme/guide/x")
	f.Fuzz(func(t *testing.T, dir string) {
		id, err := objects.BundleID(dir)
		if err != nil {
			return
		}
		if back, err := objects.BundleDir(id); err != nil || back != dir {
			t.Errorf("BundleDir(BundleID(%q) = %q) = %q, %v", dir, id, back, err)
		}
	})
}
