package space

import (
	"strings"
	"testing"

	"github.com/rye-os/rye/objects"
)

func TestNamesAmong(t *testing.T) {
	hello, odd := objects.Ref{Kind: objects.Tool, ID: "acme/hello"}, objects.Ref{Kind: objects.Knowledge, ID: "acme/tool/hello"}
	for _, test := range []struct {
		name   string
		here   []objects.Ref
		typed  string
		want   objects.Ref
		refuse string
	}{
		{"the end of an id", []objects.Ref{hello}, "hello", hello, ""},
		{"an id", []objects.Ref{hello}, "acme/hello", hello, ""},
		{"published", []objects.Ref{hello}, "acme/tool/hello", hello, ""},
		{"published, of nothing here", nil, "acme/tool/hello", hello, ""},
		{"an id with the form of a published name", []objects.Ref{odd}, "acme/tool/hello", odd, ""},
		{"both", []objects.Ref{hello, odd}, "acme/tool/hello", objects.Ref{}, `"acme/tool/hello" can mean knowledge:acme/tool/hello or tool:acme/hello`},
		{"two ends", []objects.Ref{hello, odd}, "hello", objects.Ref{}, `"hello" can mean knowledge:acme/tool/hello or tool:acme/hello`},
		{"nothing", nil, "hello", objects.Ref{}, `"hello": no item has this name`},
	} {
		t.Run(test.name, func(t *testing.T) {
			ref, err := objects.ParseRef(test.typed)
			if err == nil {
				ref, err = PublishedAmong(test.here, ref, test.typed)
			} else {
				ref, err = NamedAmong(test.here, test.typed)
			}
			if ref != test.want || (err == nil) != (test.refuse == "") || err != nil && !strings.Contains(err.Error(), test.refuse) {
				t.Errorf("%q = %v, %v; want %v, %q", test.typed, ref, err, test.want, test.refuse)
			}
		})
	}
}
