package author

import (
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// defaultNamespace is the namespace of a project that was made without one, and of the user
// space.
const defaultNamespace = "local"

// namespaceOf is the first segment of an id that a user typed without one.
func namespaceOf(s *custody.Desk) string {
	if s.Project == nil {
		return defaultNamespace
	}
	return s.Project.Namespace
}

// ready makes the directory and the record of a space that may not be there yet.
func ready(l *space.Layer) error {
	if l.Store == "" || l.Space == objects.Project {
		return nil
	}
	return l.Create()
}
