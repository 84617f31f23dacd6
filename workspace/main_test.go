package workspace_test

import (
	"os"
	"testing"

	"github.com/rye-os/rye/internal/testkit"
)

func TestMain(m *testing.M) {
	testkit.UseMemory()
	os.Exit(m.Run())
}
