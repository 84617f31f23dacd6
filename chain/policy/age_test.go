package policy

import (
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

func TestMinAge(t *testing.T) {
	user, err := ParseRules([]byte("policy: 1\nmin_age: 7d\nmin_age_except: [acme/*, beta/tool/lib]\n"))
	if err != nil {
		t.Fatal(err)
	}
	both, err := user.Tighten([]byte("policy: 1\nmin_age: 12h\nmin_age_except: [beta/tool/lib]\n"))
	if err != nil {
		t.Fatal(err)
	}
	none := Default()
	alone, err := none.Tighten([]byte("policy: 1\nmin_age: 365d\n"))
	if err != nil {
		t.Fatal(err)
	}
	const day = 24 * time.Hour
	for _, tt := range []struct {
		rules *Rules
		item  string
		want  time.Duration
	}{
		{&user, "acme/tool/x", 0}, {&user, "acmex/tool/x", 7 * day}, {&user, "beta/tool/lib", 0}, {&user, "beta/tool/lib/x", 7 * day}, {&user, "beta/knowledge/lib", 7 * day},
		{&both, "acme/tool/x", 12 * time.Hour}, {&both, "beta/tool/lib", 0}, {&both, "gamma/tool/x", 7 * day},
		{&none, "acme/tool/x", 0}, {&alone, "acme/tool/x", 365 * day},
	} {
		ref, err := objects.ParseRef(tt.item)
		if err != nil {
			t.Fatal(err)
		}
		if got := tt.rules.MinAge(ref); got != tt.want {
			t.Errorf("MinAge(%s) = %v, want %v", tt.item, got, tt.want)
		}
	}
	for _, bad := range []string{"min_age: 7", "min_age: d", "min_age: 0d", "min_age: -1d", "min_age: 366d", "min_age: 1w", "min_age_except: [acme/*]",
		"min_age: 7d\nmin_age_except: [acme]", "min_age: 7d\nmin_age_except: ['*']", "min_age: 7d\nmin_age_except: [acme/tool/*]", "min_age: 7d\nmin_age_except: ['tool:acme/x']"} {
		if _, err := ParseRules([]byte("policy: 1\n" + bad + "\n")); !fault.Is(err, fault.Malformed) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
