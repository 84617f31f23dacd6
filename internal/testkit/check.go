package testkit

import (
	"testing"

	"github.com/rye-os/rye/fault"
)

// Must ends the test if err is not nil.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// WantCode reports an error whose code is not want; "" wants no error.
func WantCode(t testing.TB, what string, err error, want fault.Code) {
	t.Helper()
	if got := fault.CodeOf(err); got != want {
		t.Errorf("%s: %v (code %q), want code %q", what, err, got, want)
	}
}
