package author

import (
	"context"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// Readmit records a removed item that is back, after a person agreed to its use. If it cannot
// be recorded, the user gets a notice, and the same question next time.
func Readmit(ctx context.Context, s *custody.Desk, f space.Found) {
	l, err := s.Stack.Layer(f.Space)
	if err == nil {
		it := f.Item()
		_, err = record(ctx, s, l, "readmit", []objects.Ref{it.Ref}, []store.Change{{Path: f.Path, Data: it.Raw}})
	}
	if err != nil {
		s.Say("it could not be recorded: " + err.Error())
	}
}
