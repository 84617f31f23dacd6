package objects_test

import (
	"strings"
	"testing"

	"github.com/rye-os/rye/objects"
)

func TestVersionOrder(t *testing.T) {
	// The example of semver.org §11 and its neighbours, lowest first.
	order := []string{"0.0.0-0", "0.0.0", "0.0.1-alpha", "0.9.999999999", "1.0.0-0", "1.0.0-2", "1.0.0-10", "1.0.0-99999999999999999999",
		"1.0.0--", "1.0.0-A", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11",
		"1.0.0-rc.1", "1.0.0", "1.0.1", "1.2.0", "1.10.0", "2.0.0"}
	for i, a := range order {
		va, err := objects.ParseVersion(a)
		if err != nil || va.String() != a {
			t.Fatalf("ParseVersion(%q) = %v, %v", a, va, err)
		}
		for j, b := range order {
			vb, _ := objects.ParseVersion(b)
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := va.Compare(vb); got != want {
				t.Errorf("%s against %s = %d, want %d", a, b, got, want)
			}
		}
	}
	x, _ := objects.ParseVersion("1.0.0+a.001")
	y, _ := objects.ParseVersion("1.0.0+b")
	if x.Compare(y) != 0 || x.String() != "1.0.0+a.001" {
		t.Error("build metadata counts")
	}
}

func TestParseVersionRefuses(t *testing.T) {
	for _, s := range []string{"", "1", "1.0", "1.0.0.0", "v1.0.0", "01.0.0", "1.0.0-", "1.0.0-01", "1.0.0-a..b", "1.0.0+", "1.0.0-ä",
		"1.0.0 ", " 1.0.0", "1.0.-1", "1.0.x", "1000000000.0.0", "1.0.0-" + strings.Repeat("a", 128), "1.0.0\n"} {
		if v, err := objects.ParseVersion(s); err == nil {
			t.Errorf("ParseVersion(%q) = %v", s, v)
		}
	}
}

func TestRange(t *testing.T) {
	tests := []struct{ text, in, out string }{
		{"*", "0.0.0 9.9.9", "1.0.0-rc.1"},
		{"x", "0.0.0 9.9.9", ""},
		{"1.2.3", "1.2.3 1.2.3+b", "1.2.4 1.2.3-rc.1"},
		{"=1.2.3", "1.2.3", "1.2.4"},
		{"v1.2.3", "1.2.3", "1.2.4"},
		{"1", "1.0.0 1.9.9", "2.0.0 0.9.9 2.0.0-rc.1 1.0.0-rc.1"},
		{"1.2.x", "1.2.0 1.2.9", "1.3.0 1.1.9 1.3.0-0"},
		{"1.2.*", "1.2.0", "1.3.0"},
		{"^1.2.3", "1.2.3 1.9.0", "1.2.2 2.0.0 2.0.0-rc.1 1.2.3-rc.1 1.3.0-rc.1"},
		{"^1.2.3-rc.2", "1.2.3-rc.2 1.2.3-rc.3 1.2.3 1.4.0", "1.2.3-rc.1 1.2.4-rc.1 2.0.0"},
		{"^0.2.3", "0.2.3 0.2.9", "0.3.0 0.2.2 0.3.0-0"},
		{"^0.0.3", "0.0.3", "0.0.4 0.0.2"},
		{"^0.0", "0.0.0 0.0.9", "0.1.0"},
		{"^0", "0.0.0 0.9.9", "1.0.0"},
		{"^0.x", "0.0.0 0.9.9", "1.0.0"},
		{"^1.x", "1.0.0 1.9.9", "2.0.0"},
		{"~1.2.3", "1.2.3 1.2.9", "1.3.0 1.2.2"},
		{"~1.2", "1.2.0 1.2.9", "1.3.0"},
		{"~1", "1.0.0 1.9.0", "2.0.0"},
		{"~ 1.2", "1.2.0", "1.3.0"},
		{">=1.2 <2", "1.2.0 1.9.9", "2.0.0 1.1.9 2.0.0-rc.1"},
		{">= 1.2 < 2", "1.2.0", "2.0.0"},
		{">1.2", "1.3.0 2.0.0", "1.2.0 1.2.9"},
		{">1.2.3", "1.2.4", "1.2.3"},
		{">1", "2.0.0", "1.9.9"},
		{"<=1.2", "1.2.9 0.0.1", "1.3.0 1.3.0-0"},
		{"<=1.2.3", "1.2.3", "1.2.4"},
		{"<1.2.3", "1.2.2 0.0.0", "1.2.3 1.2.3-rc.1"},
		{"<1.2.3-rc.2", "1.2.3-rc.1 1.2.2", "1.2.3-rc.2 1.2.3 1.2.2-rc.1"},
		{"1.2 - 1.4", "1.2.0 1.4.9", "1.5.0 1.1.0"},
		{"1.2.3 - 1.4.5", "1.2.3 1.4.5", "1.4.6"},
		{"^1.0 || ^3.1", "1.5.0 3.1.0", "2.0.0 3.0.0"},
		{"^1.0||^3.1", "3.9.0", "4.0.0"},
		{">=1.0.0-0 <1.0.0", "1.0.0-0 1.0.0-rc.1", "1.0.0 0.9.0"},
	}
	for _, tt := range tests {
		r, err := objects.ParseRange(tt.text)
		if err != nil || r.String() != tt.text {
			t.Errorf("ParseRange(%q) = %v, %v", tt.text, r, err)
			continue
		}
		for _, side := range []struct {
			list string
			want bool
		}{{tt.in, true}, {tt.out, false}} {
			for _, s := range strings.Fields(side.list) {
				v, err := objects.ParseVersion(s)
				if err != nil {
					t.Fatal(err)
				}
				if r.Allows(v) != side.want {
					t.Errorf("%q allows %s = %v", tt.text, s, !side.want)
				}
			}
		}
	}
	if (objects.Range{}).Allows(objects.Version{}) {
		t.Error("the zero range allows something")
	}
}

func TestParseRangeRefuses(t *testing.T) {
	for _, s := range []string{"", " ", "||", "^1 ||", "latest", "1.2.3.4", ">", "^", "=>1", "1.x.3", ">*", "<x", "^1 - 2", "1 -2", "1..2",
		"1.2.3 -", "- 1.2.3", strings.Repeat("1 ", 200), strings.Repeat("1||", 20) + "1", "é", "^^1", "!1"} {
		if r, err := objects.ParseRange(s); err == nil {
			t.Errorf("ParseRange(%q) = %#v", s, r)
		}
	}
}
