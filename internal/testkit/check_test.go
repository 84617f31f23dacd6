package testkit

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rye-os/rye/fault"
)

// recorder is a test that notes its failures and goes on.
type recorder struct {
	testing.TB
	failed string
}

func (r *recorder) Helper()                      {}
func (r *recorder) Fatal(args ...any)            { r.failed = "fatal: " + fmt.Sprint(args...) }
func (r *recorder) Errorf(f string, args ...any) { r.failed = fmt.Sprintf(f, args...) }

func TestChecksReport(t *testing.T) {
	denied := fault.New(fault.Denied, "no")
	for name, row := range map[string]struct {
		check func(testing.TB)
		want  string
	}{
		"must, none":     {func(t testing.TB) { Must(t, nil) }, ""},
		"must, an error": {func(t testing.TB) { Must(t, errors.New("no")) }, "fatal: no"},
		"code":           {func(t testing.TB) { WantCode(t, "push", denied, fault.Denied) }, ""},
		"another code":   {func(t testing.TB) { WantCode(t, "push", denied, fault.Auth) }, `push: no (code "denied"), want code "authentication"`},
		"no error":       {func(t testing.TB) { WantCode(t, "push", nil, fault.Auth) }, `push: <nil> (code ""), want code "authentication"`},
		"none is wanted": {func(t testing.TB) { WantCode(t, "push", nil, "") }, ""},
		"an error, but":  {func(t testing.TB) { WantCode(t, "push", denied, "") }, `push: no (code "denied"), want code ""`},
	} {
		r := &recorder{TB: t}
		if row.check(r); r.failed != row.want {
			t.Errorf("%s: %q, want %q", name, r.failed, row.want)
		}
	}
}
